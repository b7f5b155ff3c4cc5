// Fixed point for frames: Γ, the hidden rows of the refiner and Y² in 16 bits, so that a vector holds twice the pixels.
//
// Γ comes in steps of 1/16383, Y² in steps of 1/32766; every hidden channel has steps of its own, as fine as the largest
// value it can take allows. That value follows from the weights and 0 ≤ Γ ≤ 1, so nothing ever saturates: sums may wrap on
// their way, but what they arrive at fits. Products are rounded one by one, which is where the error comes from; quantise.cpp
// bounds it from the weights, and frames whose levels are finer than twice that bound go through floats.
// It is integer arithmetic: the same Γ gives the same Y² on every instruction set.
#pragma once

#include "refiner.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::FixedRefiner;

PIC_UIE_INLINE vh_half to_steps(vf toned) { return narrow(truncate(toned * float(pic_uie::TONED_STEPS) + 0.5f)); }
PIC_UIE_INLINE vf from_steps(vh_half y2) { return to_float(widen(y2)) * float(1.0 / pic_uie::LUMA_STEPS); }

// Y² = clip₀₁(Γ + F). Steps of Y² are half of Γ's; what is added keeps the sum positive until it is clipped.
PIC_UIE_INLINE vh add_refinement(vh toned, vh f, vh shrink) {
    const vh zero = splat(int16_t(1 << 14));
    const vh sum = (toned + toned) + (multiply(f, shrink) + zero);
    return min(max(sum, zero), zero + splat(int16_t(pic_uie::LUMA_STEPS))) - zero;
}

// A 32-bit lane of a vector holds segment l in its low half and segment l + LANES in its high half, so the shuffles are
// those of 32-bit lanes.
inline int place_of_segment(int segment, vh) { return segment < LANES ? 2 * segment : 2 * (segment - LANES) + 1; }

inline void to_segments(const uint16_t* in, int segment, int count, vh* out) {
    const uint16_t* const high = in + int64_t(LANES) * segment;
    for (int j = 0; j < count; j += LANES) {
        vi v[LANES];
        for (int l = 0; l < LANES; ++l) {
            const int64_t at = int64_t(l) * segment + j;
            v[l] = widen(load_as<vh_half>(in + at)) | (widen(load_as<vh_half>(high + at)) << 16);
        }
        transpose(v);
        for (int l = 0; l < LANES; ++l) out[j + l] = vh(v[l]);
    }
}

// As with floats, what a group writes beyond its segment is overwritten by the owner later.
inline void from_segments(const vh* in, int segment, uint16_t* out) {
    uint16_t* const high = out + int64_t(LANES) * segment;
    for (int j = (segment - 1) / LANES * LANES; j >= 0; j -= LANES) {
        vi v[LANES];
        for (int l = 0; l < LANES; ++l) v[l] = vi(in[j + l]);
        transpose(v);
        for (int l = 0; l < LANES; ++l) store_as(out + int64_t(l) * segment + j, narrow(v[l] & 0xffff));
        for (int l = 0; l < LANES; ++l) store_as(high + int64_t(l) * segment + j, narrow((v[l] >> 16) & 0xffff));
    }
}

}  // namespace
}  // namespace PIC_UIE_ISA
