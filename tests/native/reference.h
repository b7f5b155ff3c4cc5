// The executor in double, one pixel and one step at a time, from the paper's equations: what the kernels must agree with.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "pic_uie.h"

namespace reference {

using Plane = std::vector<double>;

inline double clip(double x) { return std::min(std::max(x, 0.0), 1.0); }

inline double stretched(const float* field, int h, int w, int64_t y, int64_t x, int64_t height, int64_t width) {
    auto at = [](int64_t i, int size, int64_t target) {
        return std::clamp((double(i) + 0.5) * size / double(target) - 0.5, 0.0, double(size - 1));
    };
    const double fy = at(y, h, height), fx = at(x, w, width);
    const int y0 = int(fy), x0 = int(fx), y1 = std::min(y0 + 1, h - 1), x1 = std::min(x0 + 1, w - 1);
    auto row = [&](int r) { return field[r * w + x0] * (1 - (fx - x0)) + field[r * w + x1] * (fx - x0); };
    return row(y0) * (1 - (fy - y0)) + row(y1) * (fy - y0);
}

// Each sum is made in a register: under a sanitizer, every access to memory costs a call.
inline Plane convolve(const Plane& in, const float* kernel, double bias, int64_t height, int64_t width) {
    Plane out(in.size());
    const double* from = in.data();
    double *to = out.data(), weights[9];
    for (int k = 0; k < 9; ++k) weights[k] = kernel[k];
    for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x) {
            double sum = bias;
            for (int k = 0; k < 9; ++k) {
                const int64_t v = y + k / 3 - 1, u = x + k % 3 - 1;
                if (v >= 0 && v < height && u >= 0 && u < width) sum += weights[k] * from[v * width + u];
            }
            to[y * width + x] = sum;
        }
    return out;
}

inline double table(const float* lut, int grid, double cb, double cr) {
    const double x = clip(cb + 0.5) * (grid - 1), y = clip(cr + 0.5) * (grid - 1);
    const int i = std::min(int(x), grid - 2), j = std::min(int(y), grid - 2);
    auto row = [&](int r) { return lut[r * grid + i] * (1 - (x - i)) + lut[r * grid + i + 1] * (x - i); };
    return 0.5 * (row(j) * (1 - (y - j)) + row(j + 1) * (y - j));
}

// One over the square root of a symmetric matrix by Denman and Beavers' iteration: nothing like the core's own way.
inline void inverse_root(const double s[9], double root[9]) {
    auto invert = [](const double m[9], double out[9]) {
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
                out[3 * i + j] = m[3 * a + c] * m[3 * b + d] - m[3 * a + d] * m[3 * b + c];
            }
        const double determinant = m[0] * out[0] + m[1] * out[3] + m[2] * out[6];
        for (int i = 0; i < 9; ++i) out[i] /= determinant;
    };
    double y[9], inverse_y[9], inverse_z[9];
    for (int i = 0; i < 9; ++i) y[i] = s[i], root[i] = i % 4 == 0;
    for (int step = 0; step < 60; ++step) {
        invert(y, inverse_y), invert(root, inverse_z);
        for (int i = 0; i < 9; ++i) y[i] = 0.5 * (y[i] + inverse_z[i]), root[i] = 0.5 * (root[i] + inverse_y[i]);
    }
}

// RGB planes of doubles in, RGB planes out.
inline void execute(Plane rgb[3], int64_t height, int64_t width, const pic_uie::Corrections& c,
                    const pic_uie::Parameters& p) {
    const int64_t n = height * width;
    Plane toned(n), z[3] = {Plane(n), Plane(n), Plane(n)};
    for (int64_t i = 0; i < n; ++i) {
        auto field = [&](const float* f) { return stretched(f, c.field_height, c.field_width, i / width, i % width, height, width); };
        const double r = rgb[0][i], g = rgb[1][i], b = rgb[2][i], t = field(c.t);
        const double y = 0.299 * r + 0.587 * g + 0.114 * b, cb = 0.564 * (b - y), cr = 0.713 * (r - y);
        const double y1 = clip((y - (1 - t) * field(c.v)) * (1 + field(c.a) * (1 - t)));
        const double at = y1 * (c.tone_samples - 1);
        const int left = std::min(int(at), c.tone_samples - 2);
        toned[i] = c.tone[left] + (at - left) * (double(c.tone[left + 1]) - c.tone[left]);
        const double gate = clip(p.beta + p.gamma * (1 - t));
        z[1][i] = cb + gate * (table(c.lut, c.grid, cb, cr) - cb);
        z[2][i] = cr + gate * (table(c.lut + c.grid * c.grid, c.grid, cb, cr) - cr);
    }
    Plane refined(n, p.project.bias[0]);
    for (int k = 0; k < 16; ++k) {
        auto rectify = [](Plane plane) {
            for (double& x : plane) x = std::max(x, 0.0);
            return plane;
        };
        Plane hidden = rectify(convolve(toned, p.expand.weight + 9 * k, p.expand.bias[k], height, width));
        hidden = rectify(convolve(hidden, p.depthwise.weight + 9 * k, p.depthwise.bias[k], height, width));
        const Plane part = convolve(hidden, p.project.weight + 9 * k, 0.0, height, width);
        for (int64_t i = 0; i < n; ++i) refined[i] += part[i];
    }
    double mean[3] = {}, s[9] = {}, root[9];
    for (int64_t i = 0; i < n; ++i) {
        const double z0[3] = {clip(toned[i] + refined[i]), z[1][i], z[2][i]};
        for (int k = 0; k < 3; ++k)
            z[k][i] = c.matrix[3 * k] * z0[0] + c.matrix[3 * k + 1] * z0[1] + c.matrix[3 * k + 2] * z0[2] + c.bias[k];
        z[0][i] = clip(z[0][i]);
        for (int k = 0; k < 3; ++k) mean[k] += z[k][i] / double(n);
    }
    for (int j = 0; j < 9; ++j) {
        for (int64_t i = 0; i < n; ++i) s[j] += (z[j / 3][i] - mean[j / 3]) * (z[j % 3][i] - mean[j % 3]);
        s[j] = s[j] / double(std::max<int64_t>(n - 1, 1)) + (j % 4 == 0 ? 1e-4 : 0.0);
    }
    inverse_root(s, root);
    for (int64_t i = 0; i < n; ++i) {
        double z2[3];
        for (int k = 0; k < 3; ++k) {
            z2[k] = c.mean[k];
            for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b) z2[k] += c.recolor[3 * k + a] * root[3 * a + b] * (z[b][i] - mean[b]);
            z2[k] = (1 - c.blend) * z[k][i] + c.blend * z2[k];
        }
        const double y = clip(z2[0]), r = y + 1.402 * z2[2], b = y + 1.773 * z2[1];
        rgb[0][i] = clip(r), rgb[1][i] = clip((y - 0.299 * r - 0.114 * b) / 0.587), rgb[2][i] = clip(b);
    }
}

}  // namespace reference
