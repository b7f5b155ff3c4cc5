// The rest of Eq. 4, folded to one affine map, and the way back to RGB, with its gradient.
#pragma once

#include "executor.h"

namespace PIC_UIE_ISA {

template <class T>
void finish(std::int64_t pixels, const T* z1, const T* slope, const T* offset, T* rgb) {
    const T *p = slope, *zy = z1, *zb = z1 + pixels, *zr = z1 + 2 * pixels;
    for (std::int64_t i = 0; i < pixels; ++i) {
        const T y = clip01(p[0] * zy[i] + p[1] * zb[i] + p[2] * zr[i] + offset[0]);
        const T cb = p[3] * zy[i] + p[4] * zb[i] + p[5] * zr[i] + offset[1];
        const T cr = p[6] * zy[i] + p[7] * zb[i] + p[8] * zr[i] + offset[2];
        const T red = y + T(k::R_FROM_CR) * cr, blue = y + T(k::B_FROM_CB) * cb;
        rgb[i] = clip01(red);
        rgb[i + pixels] = clip01((y - T(k::LUMA_R) * red - T(k::LUMA_B) * blue) / T(k::LUMA_G));
        rgb[i + 2 * pixels] = clip01(blue);
    }
}

template <class T>
void finish_backward(std::int64_t pixels, const T* z1, const T* slope, const T* offset, const T* rgb_gradient,
                     T* z1_gradient, double* slope_gradient, double* offset_gradient) {
    constexpr std::int64_t kBlock = 256;  // partial sums stay short, then go to double
    const T *p = slope, *zy = z1, *zb = z1 + pixels, *zr = z1 + 2 * pixels;
    const T *dr = rgb_gradient, *dg = rgb_gradient + pixels, *db = rgb_gradient + 2 * pixels;
    std::fill_n(slope_gradient, 9, 0.0);
    std::fill_n(offset_gradient, 3, 0.0);
    for (std::int64_t start = 0; start < pixels; start += kBlock) {
        T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0, o0 = 0, o1 = 0, o2 = 0;
        for (std::int64_t i = start; i < std::min(start + kBlock, pixels); ++i) {
            const T raw_y = p[0] * zy[i] + p[1] * zb[i] + p[2] * zr[i] + offset[0], y = clip01(raw_y);
            const T cb = p[3] * zy[i] + p[4] * zb[i] + p[5] * zr[i] + offset[1];
            const T cr = p[6] * zy[i] + p[7] * zb[i] + p[8] * zr[i] + offset[2];
            const T red = y + T(k::R_FROM_CR) * cr, blue = y + T(k::B_FROM_CB) * cb;
            const T green = (y - T(k::LUMA_R) * red - T(k::LUMA_B) * blue) / T(k::LUMA_G);
            const T d_green = dg[i] * inside01(green) / T(k::LUMA_G);
            const T d_red = dr[i] * inside01(red) - T(k::LUMA_R) * d_green;
            const T d_blue = db[i] * inside01(blue) - T(k::LUMA_B) * d_green;
            const T d_y = (d_red + d_blue + d_green) * inside01(raw_y);
            const T d_cb = T(k::B_FROM_CB) * d_blue, d_cr = T(k::R_FROM_CR) * d_red;
            z1_gradient[i] = p[0] * d_y + p[3] * d_cb + p[6] * d_cr;
            z1_gradient[i + pixels] = p[1] * d_y + p[4] * d_cb + p[7] * d_cr;
            z1_gradient[i + 2 * pixels] = p[2] * d_y + p[5] * d_cb + p[8] * d_cr;
            s0 += d_y * zy[i], s1 += d_y * zb[i], s2 += d_y * zr[i];
            s3 += d_cb * zy[i], s4 += d_cb * zb[i], s5 += d_cb * zr[i];
            s6 += d_cr * zy[i], s7 += d_cr * zb[i], s8 += d_cr * zr[i];
            o0 += d_y, o1 += d_cb, o2 += d_cr;
        }
        const T sums[9] = {s0, s1, s2, s3, s4, s5, s6, s7, s8}, offsets[3] = {o0, o1, o2};
        for (int k = 0; k < 9; ++k) slope_gradient[k] += static_cast<double>(sums[k]);
        for (int k = 0; k < 3; ++k) offset_gradient[k] += static_cast<double>(offsets[k]);
    }
}

}  // namespace PIC_UIE_ISA
