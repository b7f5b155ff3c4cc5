// Random weights, corrections and numbers for the tests of the core.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "pic_uie.h"

namespace random_input {

using pic_uie::Corrections;
using pic_uie::Layer;
using pic_uie::Parameters;
namespace constants = pic_uie::constants;

inline std::mt19937 generator;
inline int uniform(int low, int high) { return std::uniform_int_distribution(low, high)(generator); }
inline float real(float low, float high) { return std::uniform_real_distribution(low, high)(generator); }

inline void require(bool fine, const char* what) {
    if (fine) return;
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
}

struct Model {
    std::vector<std::vector<float>> memory;
    Parameters p = {};

    Layer layer(int outputs, int inputs, float scale) {
        for (int count : {outputs * inputs, outputs}) {
            memory.emplace_back(count);
            for (float& x : memory.back()) x = real(-scale, scale);
        }
        return {memory[memory.size() - 2].data(), memory.back().data()};
    }

    // `last` is the size of the refiner's last weights, which decides whether frames may use 16 bits.
    Model(int width, int thumbnail, int grid, float last = 0.05f) {
        p.width = width, p.thumbnail = thumbnail, p.grid = grid;
        for (int i = 0; i < 3; ++i) p.conv[i] = layer(width, 9 * (i ? width : 3), 0.2f), p.norm[i] = layer(width, 1, 1.0f);
        p.statistics = layer(width, 6, 0.2f);
        p.t = layer(1, width, 0.5f), p.v = layer(1, width, 0.5f), p.a = layer(1, width, 0.5f);
        p.tone = layer(constants::TONE_INCREMENTS, width, 0.3f);
        p.chroma = layer(2 * grid * grid, width, 0.1f);
        p.affine = layer(12, width, 0.3f), p.covariance = layer(10, width, 0.3f);
        p.beta = 0.8f, p.gamma = 0.3f;
        p.expand = layer(16, 9, 0.3f), p.depthwise = layer(16, 9, 0.3f), p.project = layer(1, 144, last);
    }

    // Makes a channel of the refiner negative before its second ReLU, whatever goes in.
    void silence(int channel) {
        float *weight = const_cast<float*>(p.depthwise.weight) + 9 * channel, *bias = const_cast<float*>(p.depthwise.bias);
        for (int i = 0; i < 9; ++i) weight[i] = -std::abs(weight[i]);
        bias[channel] = -0.01f - std::abs(bias[channel]);
    }
};

struct Theta {
    std::vector<float> t, v, a, tone, lut;
    Corrections c = {};

    Theta(int h, int w, int tones, int grid) : t(h * w), v(h * w), a(h * w), tone(tones), lut(2 * grid * grid) {
        for (float& x : t) x = real(0.05f, 1.0f);
        for (float& x : v) x = real(0.0f, 0.4f);
        for (float& x : a) x = real(0.0f, 1.0f);
        for (float& x : lut) x = real(-1.0f, 1.0f);
        for (int i = 0; i < tones; ++i) tone[i] = float(i) / float(tones - 1);
        for (int i = 1; i + 1 < tones; ++i) tone[i] = tone[i] * tone[i];
        c = {t.data(), v.data(), a.data(), h, w, tone.data(), tones, lut.data(), grid, {}, {}, {}, {}, real(0.0f, 1.0f)};
        for (int i = 0; i < 9; ++i) c.matrix[i] = (i % 4 == 0) + real(-0.1f, 0.1f);
        for (int i = 0; i < 3; ++i) c.bias[i] = real(-0.05f, 0.05f), c.mean[i] = real(-0.1f, 0.5f);
        for (int i : {0, 3, 4, 6, 7, 8}) c.recolor[i] = real(-0.2f, 0.2f);
    }
};

}  // namespace random_input
