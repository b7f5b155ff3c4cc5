// Full-range BT.601 with centred chroma, forth and back.
#pragma once

#include "constants.h"
#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

namespace k = pic_uie::constants;

PIC_UIE_INLINE vf luma(vf r, vf g, vf b) {
    return float(k::LUMA_R) * r + (float(k::LUMA_G) * g + float(k::LUMA_B) * b);
}

struct Rgb {
    vf r, g, b;
};

// Cb and Cr arrive scaled by B_FROM_CB and R_FROM_CR (the factors are folded into the affine map before this):
// R = Y + 1.402Cr, B = Y + 1.773Cb, G = (Y - .299R - .114B) / .587, clipped.
PIC_UIE_INLINE Rgb to_rgb(vf y, vf scaled_cb, vf scaled_cr) {
    constexpr float g_from_y = float((1.0 - k::LUMA_R - k::LUMA_B) / k::LUMA_G);
    constexpr float g_from_cr = float(-k::LUMA_R / k::LUMA_G);
    constexpr float g_from_cb = float(-k::LUMA_B / k::LUMA_G);
    vf g = g_from_y * y + (g_from_cr * scaled_cr + g_from_cb * scaled_cb);
    return {clip01(y + scaled_cr), clip01(g), clip01(y + scaled_cb)};
}

}  // namespace
}  // namespace PIC_UIE_ISA
