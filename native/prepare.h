// Scalar work, once per picture: θ and weights to what the kernels read, sums to the last affine map.
#pragma once

#include "quantise.h"

namespace pic_uie {

void prepare_corrections(const Corrections& corrections, const RefinerWeights& refiner,
                         Prepared& prepared);  // not the gate
Geometry cut(int64_t height, int64_t width, int lanes, int64_t widest_tile, int64_t tallest_strip);
YuvMaps map_yuv(const Yuv& frame);

// m and S from the sums of all units, in their order.
Statistics measure(const Sums* sums, int64_t units, int64_t pixels);

// P and o of z² = P·z¹ + o, Eq. 4.
Affine calibrate(const Corrections& corrections, const Statistics& statistics);

}  // namespace pic_uie
