// Scalar work, once per picture: θ and weights to what the kernels read, sums to the last affine map.
#pragma once

#include "recipe.h"

namespace pic_uie {

void prepare_refiner(const Parameters& parameters, Refiner& refiner);
void prepare_recipe(const Corrections& corrections, Recipe& recipe);  // leaves the refiner and the gate alone
Geometry cut(int64_t height, int64_t width, int lanes);

// m and S from the sums of all units in their order, then P and o of z² = P·z¹ + o, Eq. 4.
Affine calibrate(const Corrections& corrections, const Sums* sums, int64_t units, int64_t pixels);

}  // namespace pic_uie
