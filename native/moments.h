// Sums of z¹ over one row of a tile, for m and S of Eq. 4.
#pragma once

#include "base/vector.h"
#include "kernel.h"

namespace PIC_UIE_ISA {
namespace {

inline double sum_lanes(vf v) {
    double sum = 0.0;
    for (int i = 0; i < LANES; ++i) sum += double(v[i]);
    return sum;
}

// Deviations from the row's first pixel are summed in float over this one short row, then in double: S stays exact for
// pictures of almost one colour.
struct RowMoments {
    vf pivot[3] = {}, first[3] = {}, second[6] = {};

    // LANES pixels more, of which `count` exist.
    PIC_UIE_INLINE void add(const vf z[3], int64_t count, bool begins) {
        vf d[3];
        for (int i = 0; i < 3; ++i) {
            if (begins) pivot[i] = splat(z[i][0]);
            d[i] = keep_first(z[i] - pivot[i], count);
            first[i] += d[i];
        }
        second[0] += d[0] * d[0], second[1] += d[0] * d[1], second[2] += d[0] * d[2];
        second[3] += d[1] * d[1], second[4] += d[1] * d[2], second[5] += d[2] * d[2];
    }

    void add_to(pic_uie::Sums& sums, int64_t pixels) const {
        const double n = double(pixels);
        double sum[3], p[3];
        for (int i = 0; i < 3; ++i) {
            sum[i] = sum_lanes(first[i]), p[i] = double(pivot[i][0]);
            sums.first[i] += sum[i] + n * p[i];
        }
        for (int i = 0, at = 0; i < 3; ++i)
            for (int j = i; j < 3; ++j, ++at)
                sums.second[at] += sum_lanes(second[at]) + p[i] * sum[j] + p[j] * sum[i] + n * p[i] * p[j];
    }
};

}  // namespace
}  // namespace PIC_UIE_ISA
