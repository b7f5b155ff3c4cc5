// The refiner in 16 bits, one pixel at a time in plain integers, against doubles: its error stays below the bound that comes
// with it, nothing leaves its range, and channels that are left out are those that are zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "quantise.h"
#include "random.h"
#include "reference.h"

namespace sixteen_bits {

using pic_uie::FixedRefiner;
using pic_uie::Refiner;
using pic_uie::RefinerWeights;
using pic_uie::Taps;
using random_input::Model;
using random_input::real;
using random_input::require;
using random_input::uniform;
using Rows = std::vector<int64_t>;

constexpr int64_t HEIGHT = 12, WIDTH = 14;  // even: rows go in pairs

inline int64_t product(int16_t factor, int64_t x) {
    require(x >= -32767 && x <= 32767, "sums of two rows fit 16 bits");
    return (factor * x + (1 << 14)) >> 15;
}

// F(2,3) along y on a picture with zeros around it.
inline Rows convolve(const Rows& in, const Taps<int16_t>& taps, int64_t limit) {
    auto at = [&](int64_t y, int64_t x) { return y < 0 || y >= HEIGHT || x < 0 || x >= WIDTH ? 0 : in[y * WIDTH + x]; };
    Rows out(in.size());
    for (int64_t y = 0; y < HEIGHT; y += 2)
        for (int64_t x = 0; x < WIDTH; ++x) {
            int64_t p[4] = {0, taps.bias, 0, 0};
            for (int dx = 0; dx < 3; ++dx) {
                const int64_t d[4] = {at(y - 1, x + dx - 1), at(y, x + dx - 1), at(y + 1, x + dx - 1), at(y + 2, x + dx - 1)};
                const int64_t sums[4] = {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
                for (int i = 0; i < 4; ++i) p[i] += product(taps.weight[i][dx], sums[i]);
            }
            out[y * WIDTH + x] = p[0] + p[1] + p[2], out[(y + 1) * WIDTH + x] = p[1] - p[2] - p[3];
        }
    for (int64_t v : out) require(v >= -32768 && v <= limit, "a sum fits 16 bits, and two hidden values do");
    return out;
}

inline Rows rectified(Rows rows) {
    for (int64_t& v : rows) v = std::max<int64_t>(v, 0);
    return rows;
}

// Γ + F in double, before it is clipped.
inline reference::Plane exactly(const reference::Plane& toned, const pic_uie::Parameters& p, double share) {
    reference::Plane sum = toned;
    for (double& y : sum) y += share * p.project.bias[0];
    for (int c = 0; c < 16; ++c) {
        auto rectify = [](reference::Plane plane) {
            for (double& x : plane) x = std::max(x, 0.0);
            return plane;
        };
        const auto first = rectify(reference::convolve(toned, p.expand.weight + 9 * c, p.expand.bias[c], HEIGHT, WIDTH));
        const auto second = rectify(reference::convolve(first, p.depthwise.weight + 9 * c, p.depthwise.bias[c], HEIGHT, WIDTH));
        const auto last = reference::convolve(second, p.project.weight + 9 * c, 0.0, HEIGHT, WIDTH);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += share * last[i];
    }
    return sum;
}

// Returns the largest error over the bound, or -1 where 16 bits do not suffice.
inline double random_round(const Model& model) {
    const float shares[] = {1.0f, 1.0f, 0.0f, real(0.0f, 1.5f)}, share = shares[uniform(0, 3)];
    Refiner floats;
    FixedRefiner f;
    pic_uie::prepare_refiner(RefinerWeights(model.p), share, 0.0, 1.0, floats, f);
    if (f.error >= 1.0) return -1.0;
    const int kind = uniform(0, 2);
    Rows toned(HEIGHT * WIDTH);
    for (int64_t& v : toned) v = kind == 0 ? uniform(0, pic_uie::TONED_STEPS) : kind == 1 ? uniform(0, 1) * pic_uie::TONED_STEPS : pic_uie::TONED_STEPS;
    Rows sum(toned.size(), f.project_bias);
    for (int c = 0; c < f.channels; ++c) {
        const Rows first = rectified(convolve(toned, f.expand[c], 16383)), second = rectified(convolve(first, f.depthwise[c], 16383));
        const Rows last = convolve(second, f.project[c], 32767);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += last[i];
    }
    reference::Plane exact_input;
    for (int64_t v : toned) exact_input.push_back(double(v) / pic_uie::TONED_STEPS);
    const reference::Plane wanted = exactly(exact_input, model.p, share);
    double worst = 0.0;
    for (size_t i = 0; i < sum.size(); ++i) {
        require(sum[i] >= -32768 && sum[i] <= 32767, "F fits 16 bits");
        const int64_t y2 = 2 * toned[i] + product(f.shrink, sum[i]);
        worst = std::max(worst, std::abs(double(y2) / pic_uie::LUMA_STEPS - wanted[i]) / f.error);
    }
    require(worst <= 1.0, "the refiner in 16 bits is within its bound");
    return worst;
}

inline void silent_channels() {
    Model model(4, 16, 3, 0.01f);
    auto channels = [&] {
        Refiner floats;
        FixedRefiner f;
        pic_uie::prepare_refiner(RefinerWeights(model.p), 1.0f, 0.0, 1.0, floats, f);
        require(f.error <= 0.5 / 255, "small weights go with 8 bits");
        pic_uie::prepare_refiner(RefinerWeights(model.p), 1.0f, 0.0, 1.1, floats, f);
        require(f.error == 1.0, "a tone curve beyond 1 does not");
        return floats.channels;
    };
    require(channels() == 16, "all channels of random weights are active");
    model.silence(3);
    require(channels() == 15, "a channel that is never above zero is left out");
}

inline void rounds(int count) {
    silent_channels();
    int used = 0;
    for (int i = 0; i < count; ++i) {
        Model model(4, 16, 3, real(0.001f, 0.02f));
        for (int c = 0; c < 16; c += uniform(1, 9)) model.silence(c);
        used += random_round(model) >= 0.0;
    }
    require(2 * used > count, "16 bits suffice for most random weights");
}

}  // namespace sixteen_bits
