#include "predictor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pic_uie {
namespace {

float sample(const uint8_t* p, Depth depth) {
    if (depth == Depth::u8) return float(*p) / 255.0f;
    if (depth == Depth::u16) {
        uint16_t s;
        std::memcpy(&s, p, 2);
        return float(s) / 65535.0f;
    }
    float s;
    std::memcpy(&s, p, 4);
    return s;
}

struct Between {
    int64_t left, right;
    float fraction;
};

Between shrink(int position, int64_t size, int target) {  // half-pixel centres, clamped
    const double x = std::clamp((position + 0.5) * double(size) / target - 0.5, 0.0, double(size - 1));
    const int64_t left = int64_t(x);
    return {left, std::min(left + 1, size - 1), float(x - double(left))};
}

// Row `y` of Ĩ, bilinear, channels last, with Σ and Σ² of its pixels from 0.5 on.
void thumbnail_row(const Image& image, int size, int y, float* out, double* sums) {
    const int64_t step = image.channels == 1 ? 0 : image.channel_stride;
    const Between rows = shrink(y, image.height, size);
    const uint8_t* data = static_cast<const uint8_t*>(image.data);
    const uint8_t *upper = data + rows.left * image.row_stride, *lower = data + rows.right * image.row_stride;
    std::fill(sums, sums + 6, 0.0);
    for (int x = 0; x < size; ++x) {
        const Between columns = shrink(x, image.width, size);
        const int64_t left = columns.left * image.pixel_stride, right = columns.right * image.pixel_stride;
        for (int c = 0; c < 3; ++c) {
            const int64_t at = c * step;
            const float a = sample(upper + left + at, image.depth), b = sample(upper + right + at, image.depth);
            const float d = sample(lower + left + at, image.depth), e = sample(lower + right + at, image.depth);
            const float top = a + columns.fraction * (b - a), bottom = d + columns.fraction * (e - d);
            const float value = top + rows.fraction * (bottom - top);
            out[3 * x + c] = value;
            const double centred = double(value) - 0.5;
            sums[c] += centred;
            sums[3 + c] += centred * centred;
        }
    }
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double dot(const float* weight, const double* x, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += weight[i] * x[i];
    return sum;
}

// Sums over rows in their order, whatever thread made them.
void add_rows(const std::vector<double>& rows, int count, int pitch, std::vector<double>& total) {
    std::fill(total.begin(), total.end(), 0.0);
    for (int row = 0; row < count; ++row)
        for (int c = 0; c < pitch; ++c) total[c] += rows[size_t(row) * pitch + c];
}

HeadWeights copy(const Layer& layer, int outputs, int inputs) {
    return {{layer.weight, layer.weight + size_t(outputs) * inputs}, {layer.bias, layer.bias + outputs}};
}

void global_heads(const Predictor& p, const std::vector<double>& descriptor, const CorrectionsOut& out) {
    auto head = [&](const HeadWeights& layer, int i) {
        return dot(layer.weight.data() + size_t(i) * p.width, descriptor.data(), p.width) + layer.bias[i];
    };
    double cumulative[constants::TONE_INCREMENTS], total = 0.0;
    for (int i = 0; i < constants::TONE_INCREMENTS; ++i)
        cumulative[i] = total += softplus(head(p.tone, i)) + constants::TONE_FLOOR;
    out.tone[0] = 0.0f;
    for (int i = 0; i < constants::TONE_INCREMENTS; ++i) out.tone[i + 1] = float(cumulative[i] / total);

    for (int i = 0; i < 2 * p.grid * p.grid; ++i) {  // identity + residual
        const int row = i / p.grid % p.grid, column = i % p.grid;
        const double identity = 2.0 * (i < p.grid * p.grid ? column : row) / (p.grid - 1) - 1.0;
        out.lut[i] = float(identity + head(p.chroma, i));
    }
    for (int i = 0; i < 12; ++i) out.affine[i] = float(head(p.affine, i));
    constexpr int lower_triangle[6] = {0, 3, 4, 6, 7, 8};
    std::fill(out.covariance, out.covariance + 13, 0.0f);
    for (int i = 0; i < 3; ++i) out.covariance[i] = float(head(p.covariance, i));
    for (int i = 0; i < 6; ++i) out.covariance[3 + lower_triangle[i]] = float(head(p.covariance, 3 + i));
    out.covariance[12] = float(sigmoid(head(p.covariance, 9)));
}

void spatial_heads(const Predictor& p, const float* map, int size, int row, const CorrectionsOut& out) {
    for (int x = 0; x < size; ++x) {
        const float* feature = map + (size_t(row + 1) * (size + 2) + x + 1) * p.pitch;
        auto head = [&](const HeadWeights& layer) {
            double sum = layer.bias[0];
            for (int c = 0; c < p.width; ++c) sum += double(layer.weight[c]) * feature[c];
            return sum;
        };
        const size_t at = size_t(row) * size + x;
        out.t[at] = std::clamp(float(sigmoid(head(p.t))), float(constants::T_MIN), 1.0f);
        out.v[at] = float(sigmoid(head(p.v)));
        out.a[at] = float(softplus(head(p.a)));
    }
}

}  // namespace

Predictor::Predictor(const Parameters& p, const Kernels& kernels)
    : width(p.width),
      thumbnail(p.thumbnail),
      grid(p.grid),
      pitch((p.width + kernels.lanes - 1) / kernels.lanes * kernels.lanes),
      statistics(copy(p.statistics, p.width, 6)),
      t(copy(p.t, 1, p.width)),
      v(copy(p.v, 1, p.width)),
      a(copy(p.a, 1, p.width)),
      tone(copy(p.tone, constants::TONE_INCREMENTS, p.width)),
      chroma(copy(p.chroma, 2 * p.grid * p.grid, p.width)),
      affine(copy(p.affine, 12, p.width)),
      covariance(copy(p.covariance, 10, p.width)) {
    for (int i = 0; i < 3; ++i) {
        const int inputs = i == 0 ? 3 : width;
        conv_weight[i].assign(size_t(9) * inputs * pitch, 0.0f);
        conv_bias[i].assign(pitch, 0.0f);
        for (int o = 0; o < width; ++o) {
            conv_bias[i][o] = p.conv[i].bias[o];
            for (int c = 0; c < inputs; ++c)
                for (int k = 0; k < 9; ++k)
                    conv_weight[i][(size_t(k) * inputs + c) * pitch + o] = p.conv[i].weight[(size_t(o) * inputs + c) * 9 + k];
        }
        norm_weight[i].assign(p.norm[i].weight, p.norm[i].weight + width);
        norm_bias[i].assign(p.norm[i].bias, p.norm[i].bias + width);
    }
}

PredictorBuffers::PredictorBuffers(const Predictor& p) {
    const size_t size = size_t(p.thumbnail);
    thumbnail.assign((size + 2) * (size + 2) * 3, 0.0f);
    for (int i = 0; i < 3; ++i) {
        const size_t side = (size >> (i + 1)) + 2;
        maps[i].assign(side * side * p.pitch, 0.0f);
    }
    normal.assign(size_t(3) * p.pitch, 0.0f);
    row_sums.assign(size * std::max(p.pitch, 6), 0.0);
}

void predict(const Predictor& p, const Kernels& kernels, const Image& image, PredictorBuffers& buffers, Pool& pool,
             int threads, const CorrectionsOut& out) {
    const int size = p.thumbnail;
    std::vector<double>& row_sums = buffers.row_sums;
    std::vector<double> total(std::max(p.pitch, 6)), descriptor(p.width);

    pool.each(size, threads, [&](int64_t y, int) {
        float* row = buffers.thumbnail.data() + (size_t(y + 1) * (size + 2) + 1) * 3;
        thumbnail_row(image, size, int(y), row, row_sums.data() + 6 * y);
    });
    add_rows(row_sums, size, 6, total);
    double statistics[6];
    for (int c = 0; c < 3; ++c) {
        const double n = double(size) * size, mean = total[c] / n;
        statistics[c] = mean + 0.5;
        statistics[3 + c] = std::sqrt(std::max(total[3 + c] - n * mean * mean, 0.0) / (n - 1.0)) + constants::STD_EPS;
    }

    const float* in = buffers.thumbnail.data();
    int in_size = size, in_channels = 3, in_pitch = 3;
    for (int i = 0; i < 3; ++i) {
        const int side = in_size / 2;
        float *scale = buffers.normal.data(), *shift = scale + p.pitch, *mean = shift + p.pitch;
        const Convolution layer = {in,      buffers.maps[i].data(),  in_size, in_channels, in_pitch,
                                   p.width, p.pitch,                 p.conv_weight[i].data(), p.conv_bias[i].data(),
                                   row_sums.data()};
        const Normalisation norm = {buffers.maps[i].data(), side, p.pitch, scale, shift, mean, row_sums.data()};
        const double n = double(side) * side;

        pool.each(side, threads, [&](int64_t row, int) { kernels.convolve_row(layer, int(row)); });
        add_rows(row_sums, side, p.pitch, total);
        for (int c = 0; c < p.width; ++c) mean[c] = float(total[c] / n);
        pool.each(side, threads, [&](int64_t row, int) { kernels.deviation_row(norm, int(row)); });
        add_rows(row_sums, side, p.pitch, total);
        for (int c = 0; c < p.width; ++c) {
            scale[c] = float(p.norm_weight[i][c] / std::sqrt(total[c] / n + constants::NORM_EPS));
            shift[c] = p.norm_bias[i][c];
        }
        pool.each(side, threads, [&](int64_t row, int) { kernels.normalise_row(norm, int(row)); });
        in = buffers.maps[i].data(), in_size = side, in_channels = p.width, in_pitch = p.pitch;
    }

    add_rows(row_sums, in_size, p.pitch, total);  // global average, from the last normalisation
    for (int c = 0; c < p.width; ++c)
        descriptor[c] = total[c] / (double(in_size) * in_size) + p.statistics.bias[c] +
                        dot(p.statistics.weight.data() + size_t(6) * c, statistics, 6);
    pool.each(in_size, threads, [&](int64_t row, int) { spatial_heads(p, in, in_size, int(row), out); });
    global_heads(p, descriptor, out);
}

}  // namespace pic_uie
