// Luminance: the spatial correction of Eq. 2 and the tone curve Γ of Eq. 3.
#pragma once

#include "kernel.h"
#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

// Y¹ = clip₀₁([Y - (1-t)v]·[1 + a(1-t)]), Eq. 2.
PIC_UIE_INLINE vf correct_luminance(vf y, vf t, vf v, vf a) {
    vf murk = 1.0f - t;
    return clip01((y - murk * v) * (1.0f + a * murk));
}

// Γ(y) for y in [0, 1]: linear between samples. SHORT: at most 32 intervals, so the tables fit shuffles.
template <bool SHORT>
PIC_UIE_INLINE vf apply_tone(vf y, const pic_uie::Prepared& prepared) {
    vf position = y * prepared.tone_intervals;
    vi left = max(min(truncate(position), splat(int32_t(prepared.tone_intervals) - 1)), vi{});
    vf fraction = position - to_float(left);
    if constexpr (SHORT) return lookup<32>(prepared.tone_value, left) + fraction * lookup<32>(prepared.tone_step, left);
    vf below = gather(prepared.tone, left);
    return below + fraction * (gather(prepared.tone + 1, left) - below);
}

}  // namespace
}  // namespace PIC_UIE_ISA
