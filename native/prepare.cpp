#include "prepare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pic_uie {
namespace {

Taps winograd(const float* kernel, float bias) {
    Taps taps = {{}, bias};
    for (int dx = 0; dx < 3; ++dx) {
        const double above = kernel[dx], middle = kernel[3 + dx], below = kernel[6 + dx];
        taps.weight[0][dx] = float(above);
        taps.weight[1][dx] = float((above + middle + below) / 2.0);
        taps.weight[2][dx] = float((above - middle + below) / 2.0);
        taps.weight[3][dx] = float(below);
    }
    return taps;
}

// Eigenvalues and orthonormal eigenvectors (columns) of a symmetric 3x3 matrix, by Jacobi's rotations.
void eigen(double s[3][3], double vectors[3][3]) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) vectors[i][j] = i == j;
    for (int sweep = 0; sweep < 32; ++sweep) {
        if (s[0][1] == 0.0 && s[0][2] == 0.0 && s[1][2] == 0.0) return;
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                if (s[p][q] == 0.0) continue;
                const double theta = (s[q][q] - s[p][p]) / (2.0 * s[p][q]);
                const double t = std::copysign(1.0, theta) / (std::fabs(theta) + std::hypot(theta, 1.0));
                const double c = 1.0 / std::hypot(t, 1.0), sn = t * c;
                for (int k = 0; k < 3; ++k) {  // S ← S·J
                    const double a = s[k][p], b = s[k][q];
                    s[k][p] = c * a - sn * b, s[k][q] = sn * a + c * b;
                }
                for (int k = 0; k < 3; ++k) {  // S ← Jᵀ·S, V ← V·J
                    double a = s[p][k], b = s[q][k];
                    s[p][k] = c * a - sn * b, s[q][k] = sn * a + c * b;
                    a = vectors[k][p], b = vectors[k][q];
                    vectors[k][p] = c * a - sn * b, vectors[k][q] = sn * a + c * b;
                }
                s[p][q] = s[q][p] = 0.0;
            }
    }
}

void inverse_root(double s[3][3], double root[3][3]) {
    double vectors[3][3];
    eigen(s, vectors);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            root[i][j] = 0.0;
            for (int k = 0; k < 3; ++k)
                root[i][j] += vectors[i][k] * vectors[j][k] / std::sqrt(std::max(s[k][k], constants::EIGENVALUE_FLOOR));
        }
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void prepare_refiner(const Parameters& parameters, Refiner& refiner) {
    for (int c = 0; c < constants::REFINER_WIDTH; ++c) {
        refiner.expand[c] = winograd(parameters.expand.weight + 9 * c, parameters.expand.bias[c]);
        refiner.depthwise[c] = winograd(parameters.depthwise.weight + 9 * c, parameters.depthwise.bias[c]);
        refiner.project[c] = winograd(parameters.project.weight + 9 * c, 0.0f);
    }
    refiner.project_bias = parameters.project.bias[0];
}

void prepare_recipe(const Corrections& theta, Recipe& recipe) {
    recipe.fields[0] = theta.t, recipe.fields[1] = theta.v, recipe.fields[2] = theta.a;
    recipe.field_height = theta.field_height, recipe.field_width = theta.field_width;

    const int intervals = theta.tone_samples - 1;
    recipe.tone = theta.tone;
    recipe.tone_intervals = float(intervals);
    recipe.short_tone = intervals <= 32;
    for (int i = 0; i < 32 && recipe.short_tone; ++i) {
        recipe.tone_value[i] = i < intervals ? theta.tone[i] : 1.0f;
        recipe.tone_step[i] = i < intervals ? theta.tone[i + 1] - theta.tone[i] : 0.0f;
    }

    const int grid = theta.grid;
    recipe.lut = theta.lut;
    recipe.grid = grid;
    recipe.small_lut = grid <= 9;
    for (int channel = 0; channel < 2 && recipe.small_lut; ++channel)
        for (int row = 0; row + 1 < grid; ++row)
            for (int column = 0; column + 1 < grid; ++column) {
                const float* corner = theta.lut + (channel * grid + row) * grid + column;
                const double v00 = corner[0], v01 = corner[1], v10 = corner[grid], v11 = corner[grid + 1];
                const double polynomial[4] = {v00, v01 - v00, v10 - v00, v11 - v10 - v01 + v00};
                const int cell = row * (grid - 1) + column;
                for (int i = 0; i < 4; ++i)
                    recipe.cells[cell][4 * channel + i] = recipe.coefficients[4 * channel + i][cell] =
                        float(constants::CHROMA_LIMIT * polynomial[i]);
            }

    std::memcpy(recipe.color.matrix, theta.matrix, sizeof theta.matrix);
    std::memcpy(recipe.color.offset, theta.bias, sizeof theta.bias);
}

Geometry cut(int64_t height, int64_t width, int lanes) {
    constexpr int64_t widest_tile = 640, tallest_strip = 64;  // working set near the first cache, little redundant halo
    Geometry geometry = {};
    geometry.height = height, geometry.width = width;
    geometry.tiles = divide_up(width, widest_tile);
    geometry.segment = int(divide_up(divide_up(width, geometry.tiles), lanes));
    geometry.tile_width = int64_t(geometry.segment) * lanes;
    geometry.tiles = divide_up(width, geometry.tile_width);
    geometry.strips = divide_up(height, tallest_strip);
    geometry.strip_height = divide_up(divide_up(height, geometry.strips), 2) * 2;  // whole pairs of rows
    geometry.strips = divide_up(height, geometry.strip_height);
    return geometry;
}

Affine calibrate(const Corrections& theta, const Sums* sums, int64_t units, int64_t pixels) {
    double first[3] = {}, second[6] = {};
    for (int64_t unit = 0; unit < units; ++unit) {
        for (int i = 0; i < 3; ++i) first[i] += sums[unit].first[i];
        for (int i = 0; i < 6; ++i) second[i] += sums[unit].second[i];
    }
    const double n = double(pixels), divisor = pixels > 1 ? n - 1.0 : 1.0;
    double mean[3], s[3][3], root[3][3];
    for (int i = 0; i < 3; ++i) mean[i] = first[i] / n;
    for (int i = 0, at = 0; i < 3; ++i)
        for (int j = i; j < 3; ++j, ++at)
            s[i][j] = s[j][i] = (second[at] - n * mean[i] * mean[j]) / divisor + (i == j ? constants::COVARIANCE_EPS : 0.0);
    inverse_root(s, root);

    const double alpha = theta.blend;
    const double scale[3] = {1.0, constants::B_FROM_CB, constants::R_FROM_CR};
    Affine affine;
    for (int i = 0; i < 3; ++i) {
        double offset = alpha * theta.mean[i];
        for (int j = 0; j < 3; ++j) {
            double whitened = 0.0;  // (G·S^(-1/2))ᵢⱼ
            for (int k = 0; k < 3; ++k) whitened += theta.recolor[3 * i + k] * root[k][j];
            affine.matrix[3 * i + j] = float(scale[i] * ((i == j ? 1.0 - alpha : 0.0) + alpha * whitened));
            offset -= alpha * whitened * mean[j];
        }
        affine.offset[i] = float(scale[i] * offset);
    }
    return affine;
}

}  // namespace pic_uie
