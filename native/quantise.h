// The refiner as the kernels read it: the channels that matter, in floats and, where that suffices, in 16 bits.
#pragma once

#include "kernel.h"

namespace pic_uie {

struct RefinerWeights {
    float expand[constants::REFINER_WIDTH][9], depthwise[constants::REFINER_WIDTH][9],
        project[constants::REFINER_WIDTH][9];
    float expand_bias[constants::REFINER_WIDTH], depthwise_bias[constants::REFINER_WIDTH], project_bias;

    explicit RefinerWeights(const Parameters& parameters);
};

// `share` of F is added, and Γ lies between `lowest` and `highest`.
void prepare_refiner(const RefinerWeights& weights, float share, double lowest, double highest, Refiner& refiner,
                     FixedRefiner& fixed);

}  // namespace pic_uie
