// F of Eq. 3: conv 3x3 1→16, ReLU, depthwise 3x3, ReLU, conv 3x3 16→1, on rows in segment order.
//
// Segment order: a row of LANES·n pixels is cut into LANES segments of n; vector j holds pixel j of every segment.
// The left and right neighbours of a vector are then the vectors beside it, so convolutions need no unaligned loads and
// no shuffles. Each row carries a few vectors more at both ends: the halo, which overlaps the neighbouring segments.
#pragma once

#include <type_traits>

#include "kernel.h"
#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Taps;

// Floats (vf) or fixed point (vh): the text below is the same for both.
template <class V>
using Element = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
constexpr int lanes = int(sizeof(V) / sizeof(Element<V>));
template <class V>
using Number = std::conditional_t<std::is_same_v<V, vf>, float, int16_t>;

// Two neighbouring rows; a convolution makes pair i from pairs i and i + 1 of its input.
template <class V>
struct Pair {
    V *upper, *lower;
};

enum class Then { rectify, add };

// Two output rows of `count` vectors from four input rows of count + 2: Winograd's F(2,3) along y,
//   products = weights · (d0-d2, d1+d2, d2-d1, d1-d3),  upper = p0+p1+p2,  lower = p1-p2-p3,
// and along x three running sums per product, so each input vector is loaded and transformed once. Multiply-adds fall
// from 54 to 36 a channel and pixel pair; the additions go to units that would idle.
template <Then THEN, class V>
inline void convolve(Pair<V> first, Pair<V> second, const Taps<Number<V>>& taps, Pair<V> out, int count) {
    V w[4][3];
    for (int i = 0; i < 4; ++i)
        for (int dx = 0; dx < 3; ++dx) w[i][dx] = splat(taps.weight[i][dx]);
    const V bias = splat(taps.bias);
    V near[4], far[4];  // sums that still lack one column, two columns

    auto transform = [&](int x, V d[4]) PIC_UIE_INLINE_LAMBDA {
        V d0 = first.upper[x], d1 = first.lower[x], d2 = second.upper[x], d3 = second.lower[x];
        d[0] = d0 - d2, d[1] = d1 + d2, d[2] = d2 - d1, d[3] = d1 - d3;
    };
    auto begin = [&](int i, V d)
                     PIC_UIE_INLINE_LAMBDA { return i == 1 ? bias + multiply(w[i][0], d) : multiply(w[i][0], d); };

    V d[4];
    transform(0, d);
    for (int i = 0; i < 4; ++i) near[i] = begin(i, d[i]);
    transform(1, d);
    for (int i = 0; i < 4; ++i) near[i] += multiply(w[i][1], d[i]), far[i] = begin(i, d[i]);
    for (int x = 0; x < count; ++x) {
        transform(x + 2, d);
        V p[4];
        for (int i = 0; i < 4; ++i) {
            p[i] = near[i] + multiply(w[i][2], d[i]);
            near[i] = far[i] + multiply(w[i][1], d[i]);
            far[i] = begin(i, d[i]);
        }
        V upper = p[0] + (p[1] + p[2]), lower = (p[1] - p[2]) - p[3];
        if constexpr (THEN == Then::rectify) {
            out.upper[x] = rectify(upper);
            out.lower[x] = rectify(lower);
        } else {
            out.upper[x] += upper;
            out.lower[x] += lower;
        }
    }
}

// Which element of a vector holds a segment's pixels.
inline int place_of_segment(int segment, vf) { return segment; }

// Natural order to segment order and back; buffers on the vector side are padded to whole groups of LANES.
// in[l·segment + j] → out[j] lane l, j < count.
inline void to_segments(const float* in, int segment, int count, vf* out) {
    for (int j = 0; j < count; j += LANES) {
        vf v[LANES];
        for (int l = 0; l < LANES; ++l) v[l] = load(in + int64_t(l) * segment + j);
        transpose(v);
        for (int l = 0; l < LANES; ++l) out[j + l] = v[l];
    }
}

// Groups run backwards: what a group writes beyond its segment is then overwritten by the owner.
inline void from_segments(const vf* in, int segment, float* out) {
    for (int j = (segment - 1) / LANES * LANES; j >= 0; j -= LANES) {
        vf v[LANES];
        for (int l = 0; l < LANES; ++l) v[l] = in[j + l];
        transpose(v);
        for (int l = 0; l < LANES; ++l) store(out + int64_t(l) * segment + j, v[l]);
    }
}

}  // namespace
}  // namespace PIC_UIE_ISA
