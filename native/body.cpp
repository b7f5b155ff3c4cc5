// The predictor's body: conv 3x3 stride 2, InstanceNorm, ReLU, on channels-last maps; a vector holds LANES channels.
// Compiled once per instruction set, as kernel.cpp.
#include "body.h"

#include "base/vector.h"

namespace PIC_UIE_ISA {

using pic_uie::Convolution;
using pic_uie::Normalisation;

namespace {

// What a row adds to the statistics of InstanceNorm: deviations from the row's first pixel, so that little cancels.
struct RowSums {
    vf pivot, first, second;
};

// Output pixels [x, x + PIXELS) of one row for the LANES channels from `channel` on.
template <int PIXELS>
PIC_UIE_INLINE void convolve_pixels(const Convolution& layer, int row, int x, int channel, RowSums& sums) {
    const int64_t in_row = int64_t(layer.in_size + 2) * layer.in_pitch;
    const float* weight = layer.weight + channel;
    vf sum[PIXELS];
    for (int p = 0; p < PIXELS; ++p) sum[p] = load(layer.bias + channel);
    for (int ky = 0; ky < 3; ++ky)
        for (int kx = 0; kx < 3; ++kx) {
            const float* in = layer.in + (2 * row + ky) * in_row + int64_t(2 * x + kx) * layer.in_pitch;
            for (int c = 0; c < layer.in_channels; ++c, weight += layer.out_pitch) {
                const vf w = load(weight);
                for (int p = 0; p < PIXELS; ++p) sum[p] += w * in[int64_t(2 * p) * layer.in_pitch + c];
            }
        }
    const int64_t out_row = int64_t(layer.in_size / 2 + 2) * layer.out_pitch;
    float* out = layer.out + (row + 1) * out_row + int64_t(x + 1) * layer.out_pitch + channel;
    if (x == 0) sums.pivot = sum[0];
    for (int p = 0; p < PIXELS; ++p) {
        store(out + int64_t(p) * layer.out_pitch, sum[p]);
        vf d = sum[p] - sums.pivot;
        sums.first += d;
        sums.second += d * d;
    }
}

}  // namespace

void convolve_row(const Convolution& layer, int row) {
    const int width = layer.in_size / 2;
    float* out = layer.row_sums + int64_t(3 * row) * layer.out_pitch;
    for (int channel = 0; channel < layer.out_pitch; channel += LANES) {
        RowSums sums = {};
        int x = 0;
        for (; x + 8 <= width; x += 8) convolve_pixels<8>(layer, row, x, channel, sums);
        for (; x < width; ++x) convolve_pixels<1>(layer, row, x, channel, sums);
        store(out + channel, sums.pivot);
        store(out + layer.out_pitch + channel, sums.first);
        store(out + 2 * layer.out_pitch + channel, sums.second);
    }
}

// max(scale·(x - mean) + shift, 0), and the row's sums for the global average.
void normalise_row(const Normalisation& map, int row) {
    float* at = map.map + (int64_t(row + 1) * (map.size + 2) + 1) * map.pitch;
    float* sums = map.row_sums + int64_t(row) * map.pitch;
    for (int channel = 0; channel < map.pitch; channel += LANES) {
        const vf mean = load(map.mean + channel), scale = load(map.scale + channel), shift = load(map.shift + channel);
        vf sum{};
        for (int x = 0; x < map.size; ++x) {
            float* p = at + int64_t(x) * map.pitch + channel;
            vf value = max((load(p) - mean) * scale + shift, vf{});
            store(p, value);
            sum += value;
        }
        store(sums + channel, sum);
    }
}

}  // namespace PIC_UIE_ISA
