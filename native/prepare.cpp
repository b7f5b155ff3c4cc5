#include "prepare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pic_uie {
namespace {

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

void prepare_corrections(const Corrections& theta, const RefinerWeights& refiner, Prepared& prepared) {
    prepared.fields[0] = theta.t, prepared.fields[1] = theta.v, prepared.fields[2] = theta.a;
    prepared.field_height = theta.field_height, prepared.field_width = theta.field_width;

    const int intervals = theta.tone_samples - 1;
    prepared.tone = theta.tone;
    prepared.tone_intervals = float(intervals);
    prepared.short_tone = intervals <= 32;
    for (int i = 0; i < 32 && prepared.short_tone; ++i) {
        prepared.tone_value[i] = i < intervals ? theta.tone[i] : 1.0f;
        prepared.tone_step[i] = i < intervals ? theta.tone[i + 1] - theta.tone[i] : 0.0f;
    }

    const int grid = theta.grid;
    prepared.lut = theta.lut;
    prepared.grid = grid;
    prepared.small_lut = grid <= 9;
    for (int channel = 0; channel < 2 && prepared.small_lut; ++channel)
        for (int row = 0; row + 1 < grid; ++row)
            for (int column = 0; column + 1 < grid; ++column) {
                const float* corner = theta.lut + (channel * grid + row) * grid + column;
                const double v00 = corner[0], v01 = corner[1], v10 = corner[grid], v11 = corner[grid + 1];
                const double polynomial[4] = {v00, v01 - v00, v10 - v00, v11 - v10 - v01 + v00};
                const int cell = row * (grid - 1) + column;
                for (int i = 0; i < 4; ++i)
                    prepared.cells[cell][4 * channel + i] = prepared.coefficients[4 * channel + i][cell] =
                        float(constants::CHROMA_LIMIT * polynomial[i]);
            }

    std::memcpy(prepared.color.matrix, theta.matrix, sizeof theta.matrix);
    std::memcpy(prepared.color.offset, theta.bias, sizeof theta.bias);

    const auto range = std::minmax_element(theta.tone, theta.tone + theta.tone_samples);
    prepare_refiner(refiner, theta.refinement, *range.first, *range.second, prepared.refiner, prepared.fixed);
}

Geometry cut(int64_t height, int64_t width, int lanes, int64_t widest_tile, int64_t tallest_strip) {
    Geometry geometry = {};
    geometry.height = geometry.bottom = height, geometry.width = geometry.right = width;
    geometry.tiles = divide_up(width, widest_tile);
    geometry.segment = int(divide_up(divide_up(width, geometry.tiles), lanes));
    geometry.tile_width = int64_t(geometry.segment) * lanes;
    geometry.tiles = divide_up(width, geometry.tile_width);
    geometry.strips = divide_up(height, tallest_strip);
    geometry.strip_height = divide_up(divide_up(height, geometry.strips), 2) * 2;  // whole pairs of rows
    geometry.strips = divide_up(height, geometry.strip_height);
    return geometry;
}

Statistics measure(const Sums* sums, int64_t units, int64_t pixels) {
    double first[3] = {}, second[6] = {};
    for (int64_t unit = 0; unit < units; ++unit) {
        for (int i = 0; i < 3; ++i) first[i] += sums[unit].first[i];
        for (int i = 0; i < 6; ++i) second[i] += sums[unit].second[i];
    }
    const double n = double(pixels), divisor = pixels > 1 ? n - 1.0 : 1.0;
    Statistics statistics;
    double* mean = statistics.mean;
    for (int i = 0; i < 3; ++i) mean[i] = first[i] / n;
    for (int i = 0, at = 0; i < 3; ++i)
        for (int j = i; j < 3; ++j, ++at)
            statistics.covariance[3 * i + j] = statistics.covariance[3 * j + i] =
                (second[at] - n * mean[i] * mean[j]) / divisor + (i == j ? constants::COVARIANCE_EPS : 0.0);
    return statistics;
}

Affine calibrate(const Corrections& theta, const Statistics& statistics) {
    double s[3][3], root[3][3];
    std::memcpy(s, statistics.covariance, sizeof s);
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
            offset -= alpha * whitened * statistics.mean[j];
        }
        affine.offset[i] = float(scale[i] * offset);
    }
    return affine;
}

YuvMaps map_yuv(const Yuv& frame) {
    const double kr = frame.kr, kb = frame.kb, kg = 1.0 - kr - kb;
    const double unit = double(1 << (frame.bits - 8)), highest = double((1 << frame.bits) - 1);
    const double luma_levels = frame.full_range ? highest : 219.0 * unit,
                 luma_zero = frame.full_range ? 0.0 : 16.0 * unit;
    const double chroma_levels = frame.full_range ? highest : 224.0 * unit, chroma_zero = 128.0 * unit;
    const double red_from_cr = 2.0 * (1.0 - kr), blue_from_cb = 2.0 * (1.0 - kb);
    const double green_from_cr = -kr * red_from_cr / kg, green_from_cb = -kb * blue_from_cb / kg;
    const double luma_from_cb = constants::LUMA_G * green_from_cb + constants::LUMA_B * blue_from_cb;
    const double luma_from_cr = constants::LUMA_R * red_from_cr + constants::LUMA_G * green_from_cr;
    auto nearly = [](double x) { return std::fabs(x) < 1e-7 ? 0.0f : float(x); };  // BT.601: the model's own luma
    YuvMaps maps = {};
    maps.luma_scale = float(1.0 / luma_levels), maps.luma_offset = float(-luma_zero / luma_levels);
    maps.chroma_scale = float(1.0 / chroma_levels), maps.chroma_offset = float(-chroma_zero / chroma_levels);
    maps.luma_from_cb = nearly(luma_from_cb), maps.luma_from_cr = nearly(luma_from_cr);
    maps.chroma[0] = float(constants::CB_SCALE * (blue_from_cb - luma_from_cb));
    maps.chroma[1] = float(constants::CB_SCALE * -luma_from_cr);
    maps.chroma[2] = float(constants::CR_SCALE * -luma_from_cb);
    maps.chroma[3] = float(constants::CR_SCALE * (red_from_cr - luma_from_cr));
    maps.kr = float(kr), maps.kg = float(kg), maps.kb = float(kb);
    maps.cb_scale = float(1.0 / blue_from_cb), maps.cr_scale = float(1.0 / red_from_cr);
    maps.luma_levels = float(luma_levels), maps.luma_zero = float(luma_zero);
    maps.chroma_levels = float(chroma_levels), maps.chroma_zero = float(chroma_zero);
    maps.highest = float(highest);
    return maps;
}

}  // namespace pic_uie
