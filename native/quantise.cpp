#include "quantise.h"

#include <algorithm>
#include <cmath>

namespace pic_uie {
namespace {

constexpr double WHOLE = 32768.0;  // steps of a factor in fixed point; 1 itself does not fit
constexpr double FACTOR_LIMIT = 32767.0 / WHOLE;
// The largest hidden value in steps: two of them with their errors (see STEPS_OFF: 13 steps of the first layer, 9 · 13 + 8
// of the second) still fit 15 bits. Before it is rectified, one with its error must fit 16.
constexpr double LARGEST = 16200.0, LOWEST = -32000.0;
constexpr double USEFUL = 0.5 / 255.0;  // an error of half a level of 8 bits

// What a convolution can give for inputs in an interval that holds 0, the value outside the picture.
struct Interval {
    double low, high;
};

struct Kernel {
    double w[9], bias;

    Kernel() = default;
    Kernel(const float* weight, double b) : bias(b) {
        for (int i = 0; i < 9; ++i) w[i] = weight[i];
    }
    double product(int i, int dx) const {  // of F(2,3) along y
        const double above = w[dx], middle = w[3 + dx], below = w[6 + dx];
        const double products[4] = {above, (above + middle + below) / 2.0, (above - middle + below) / 2.0, below};
        return products[i];
    }
    double largest_product() const {
        double largest = 0.0;
        for (int i = 0; i < 4; ++i)
            for (int dx = 0; dx < 3; ++dx) largest = std::max(largest, std::fabs(product(i, dx)));
        return largest;
    }
    double magnitude() const {
        double sum = 0.0;
        for (double x : w) sum += std::fabs(x);
        return sum;
    }
    Interval of(Interval in) const {
        Interval out = {bias, bias};
        for (double x : w) out.low += std::min(x * in.low, x * in.high), out.high += std::max(x * in.low, x * in.high);
        return out;
    }
    Taps<float> floats(float share = 1.0f) const {
        Taps<float> taps = {{}, float(bias)};
        for (int i = 0; i < 4; ++i)
            for (int dx = 0; dx < 3; ++dx) taps.weight[i][dx] = float(product(i, dx)) * share;
        return taps;
    }
    // From inputs of `in` steps a unit to outputs of `out`.
    Taps<int16_t> steps(double in, double out) const {
        Taps<int16_t> taps = {{}, int16_t(std::lround(bias * out))};
        for (int i = 0; i < 4; ++i)
            for (int dx = 0; dx < 3; ++dx) taps.weight[i][dx] = int16_t(std::lround(WHOLE * product(i, dx) * out / in));
        return taps;
    }
    // As many steps a unit as the interval and the factors allow, from inputs of `in` steps.
    double finest(Interval interval, double in) const {
        double steps = LARGEST / std::max(interval.high, 1e-9);
        if (interval.low < 0.0) steps = std::min(steps, LOWEST / interval.low);
        return std::min(steps, FACTOR_LIMIT * in / std::max(largest_product(), 1e-9));
    }
};

// One channel of F, with the values it can take and its steps a unit.
struct Channel {
    Kernel expand, depthwise, project;
    Interval expanded, deepened;
    double expanded_steps, deepened_steps;

    Channel() = default;
    Channel(const RefinerWeights& w, int c, Interval toned)
        : expand(w.expand[c], w.expand_bias[c]),
          depthwise(w.depthwise[c], w.depthwise_bias[c]),
          project(w.project[c], 0.0) {
        expanded = expand.of(toned);
        deepened = depthwise.of({0.0, std::max(expanded.high, 0.0)});
        expanded_steps = expand.finest(expanded, TONED_STEPS);
        deepened_steps = depthwise.finest(deepened, expanded_steps);
    }
    // Never above 0 before it is rectified, by far more than floats round: nothing changes without it.
    bool silent() const {
        const double largest = depthwise.magnitude() * std::max(std::fabs(expanded.low), std::fabs(expanded.high));
        return deepened.high <= -1e-5 * (largest + std::fabs(depthwise.bias));
    }
    Interval added() const { return project.of({0.0, std::max(deepened.high, 0.0)}); }

    // A sum of nine products has an error of at most 9 · ½ step from rounding them, ½ from its bias, and 3 from rounding the
    // factors (½ of 2⁻¹⁵ each, times inputs of 2¹⁴, or 2¹⁵ where two are added first): 8 steps, and what its input had.
    static constexpr double STEPS_OFF = 8.0;
    double deepened_error() const {
        const double first = expand.magnitude() * 0.5 / TONED_STEPS + STEPS_OFF / expanded_steps;
        return depthwise.magnitude() * first + STEPS_OFF / deepened_steps;
    }
};

// F in steps that are 2ᵏ times finer than those of Y², 1 ≤ k ≤ 6: with its sign and its error (at most USEFUL · 64, an eighth
// of the range) it fits 16 bits, and 15 in steps of Y². Returns false where it cannot.
bool quantise(const Channel* channels, int count, double bias, double share, FixedRefiner& fixed) {
    fixed.channels = count;
    Interval total = {bias, bias};
    double finer = 64.0;
    for (int c = 0; c < count; ++c) {
        const Interval added = channels[c].added();
        total.low += std::min(share * added.low, share * added.high);
        total.high += std::max(share * added.low, share * added.high);
        const double largest = std::fabs(share) * channels[c].project.largest_product();
        finer = std::min(finer, FACTOR_LIMIT * channels[c].deepened_steps / LUMA_STEPS / std::max(largest, 1e-9));
    }
    finer = std::min(finer, 0.85 / std::max(std::max(total.high, -total.low), 1e-9));
    if (finer < 2.0) return false;
    const int k = int(std::floor(std::log2(finer)));
    const double steps = LUMA_STEPS * std::exp2(k);
    fixed.shrink = int16_t(1 << (15 - k));
    fixed.project_bias = int16_t(std::lround(bias * steps));
    fixed.error = 0.5 / TONED_STEPS + 0.5 / steps + 0.5 / LUMA_STEPS;
    for (int c = 0; c < count; ++c) {
        const Channel& channel = channels[c];
        fixed.expand[c] = channel.expand.steps(TONED_STEPS, channel.expanded_steps);
        fixed.depthwise[c] = channel.depthwise.steps(channel.expanded_steps, channel.deepened_steps);
        fixed.project[c] = channel.project.steps(channel.deepened_steps, steps * share);
        fixed.error +=
            std::fabs(share) * channel.project.magnitude() * channel.deepened_error() + Channel::STEPS_OFF / steps;
    }
    return fixed.error <= USEFUL;
}

}  // namespace

RefinerWeights::RefinerWeights(const Parameters& p) : project_bias(p.project.bias[0]) {
    for (int c = 0; c < constants::REFINER_WIDTH; ++c) {
        std::copy_n(p.expand.weight + 9 * c, 9, expand[c]);
        std::copy_n(p.depthwise.weight + 9 * c, 9, depthwise[c]);
        std::copy_n(p.project.weight + 9 * c, 9, project[c]);
        expand_bias[c] = p.expand.bias[c], depthwise_bias[c] = p.depthwise.bias[c];
    }
}

void prepare_refiner(const RefinerWeights& weights, float share, double lowest, double highest, Refiner& refiner,
                     FixedRefiner& fixed) {
    Channel channels[constants::REFINER_WIDTH];
    refiner.channels = 0;
    for (int c = 0; c < constants::REFINER_WIDTH; ++c) {
        const Channel channel(weights, c, {std::min(lowest, 0.0), std::max(highest, 0.0)});
        if (channel.silent()) continue;
        const int at = refiner.channels++;
        channels[at] = channel;
        refiner.expand[at] = channel.expand.floats();
        refiner.depthwise[at] = channel.depthwise.floats();
        refiner.project[at] = channel.project.floats(share);
    }
    refiner.project_bias = weights.project_bias * share;
    const bool in_range = lowest >= 0.0 && highest <= 1.0;
    if (!in_range || !quantise(channels, refiner.channels, refiner.project_bias, share, fixed)) fixed.error = 1.0;
}

}  // namespace pic_uie
