// P of Eq. 1: thumbnail and its statistics, three convolutions, heads.
#pragma once

#include <vector>

#include "base/bilinear.h"
#include "base/pool.h"
#include "kernel.h"

namespace pic_uie {

struct HeadWeights {
    std::vector<float> weight, bias;
};

// The parameters, repacked for one instruction set.
struct Predictor {
    int width, thumbnail, grid, pitch;  // pitch: width rounded up to whole vectors
    std::vector<float> conv_weight[3], conv_bias[3], norm_weight[3], norm_bias[3];
    HeadWeights statistics, t, v, a, tone, chroma, affine, covariance;

    Predictor(const Parameters& parameters, const Kernels& kernels);
    int side() const { return thumbnail / constants::DOWNSAMPLING; }  // of the fields
};

// What one prediction needs; kept between calls.
struct PredictorBuffers {
    std::vector<Between<float>> columns;
    std::vector<float> thumbnail, maps[3], normal, row_sums;
    std::vector<double> pixel_sums, descriptor;

    explicit PredictorBuffers(const Predictor& predictor);
};

void predict(const Predictor& predictor, const Kernels& kernels, const Image& picture, PredictorBuffers& buffers,
             Pool& pool, int threads, const CorrectionsOut& out);
void predict(const Predictor& predictor, const Kernels& kernels, const Yuv& picture, PredictorBuffers& buffers,
             Pool& pool, int threads, const CorrectionsOut& out);

}  // namespace pic_uie
