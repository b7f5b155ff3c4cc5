#include "predictor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace pic_uie {
namespace {

using Columns = std::vector<Between<float>>;

Between<float> shrink(int64_t position, int64_t size, int64_t target) {
    const Between<double> exact = between<double>(position, size, target);
    return {exact.left, exact.right, float(exact.fraction)};
}

float mix(float a, float b, float fraction) { return a + fraction * (b - a); }

template <typename Sample>
float sample_at(const void* plane, int64_t offset) {
    Sample s;
    std::memcpy(&s, static_cast<const uint8_t*>(plane) + offset, sizeof s);
    return float(s);
}

// Σ and Σ² of a row's pixels from 0.5 on.
struct PixelSums {
    double first[3] = {}, second[3] = {};

    void add(const float* rgb) {
        for (int c = 0; c < 3; ++c) {
            const double centred = double(rgb[c]) - 0.5;
            first[c] += centred;
            second[c] += centred * centred;
        }
    }
    void write(double* sums) const {
        std::copy_n(first, 3, sums);
        std::copy_n(second, 3, sums + 3);
    }
};

// Row `y` of Ĩ, bilinear, channels last, with the sums of its pixels.
template <typename Sample>
void thumbnail_row(const Image& image, const Columns& columns, int y, float* out, double* sums) {
    constexpr float unit = std::is_floating_point_v<Sample> ? 1.0f : 1.0f / float(std::numeric_limits<Sample>::max());
    const int64_t step = image.channels == 1 ? 0 : image.channel_stride;
    const Between<float> rows = shrink(y, image.height, int64_t(columns.size()));
    PixelSums total;
    for (const Between<float>& column : columns) {
        for (int c = 0; c < 3; ++c) {
            auto at = [&](int64_t row, int64_t x) {
                return sample_at<Sample>(image.data, row * image.row_stride + x * image.pixel_stride + c * step);
            };
            const float top = mix(at(rows.left, column.left), at(rows.left, column.right), column.fraction);
            const float bottom = mix(at(rows.right, column.left), at(rows.right, column.right), column.fraction);
            out[c] = mix(top, bottom, rows.fraction) * unit;
        }
        total.add(out);
        out += 3;
    }
    total.write(sums);
}

auto thumbnail_row_of(const Image& image) {
    const Depth depth = depth_of(image);
    return depth == Depth::u8    ? thumbnail_row<uint8_t>
           : depth == Depth::u16 ? thumbnail_row<uint16_t>
                                 : thumbnail_row<float>;
}

// The same of a frame: luma and chroma are interpolated alike, each pixel with the chroma sample it belongs to, and the
// result becomes RGB.
template <typename Sample>
void thumbnail_row_yuv(const Yuv& f, const Columns& columns, int y, float* out, double* sums) {
    const int64_t size = int64_t(sizeof(Sample));
    const double unit = double(1 << (f.bits - 8)), highest = double((1 << f.bits) - 1);
    const float luma_scale = float(1.0 / (f.full_range ? highest : 219.0 * unit)),
                luma_zero = float(f.full_range ? 0.0 : 16.0 * unit);
    const float chroma_scale = float(1.0 / (f.full_range ? highest : 224.0 * unit)), chroma_zero = float(128.0 * unit);
    const float red = float(2.0 - 2.0 * f.kr), blue = float(2.0 - 2.0 * f.kb), kr = float(f.kr), kb = float(f.kb);
    const float kg = float(1.0 - f.kr - f.kb);
    const Between<float> rows = shrink(y, f.height, int64_t(columns.size()));
    PixelSums total;
    for (const Between<float>& column : columns) {
        auto interpolate = [&](auto at) {
            return mix(mix(at(rows.left, column.left), at(rows.left, column.right), column.fraction),
                       mix(at(rows.right, column.left), at(rows.right, column.right), column.fraction), rows.fraction);
        };
        auto chroma = [&](const void* plane) {
            const float level = interpolate([&](int64_t row, int64_t x) {
                return sample_at<Sample>(plane, row / 2 * f.chroma_stride + x / 2 * f.chroma_step);
            });
            return (level - chroma_zero) * chroma_scale;
        };
        const float level =
            interpolate([&](int64_t row, int64_t x) { return sample_at<Sample>(f.y, row * f.y_stride + x * size); });
        const float luma = (level - luma_zero) * luma_scale, r = luma + red * chroma(f.cr),
                    b = luma + blue * chroma(f.cb);
        out[0] = std::clamp(r, 0.0f, 1.0f);
        out[1] = std::clamp((luma - kr * r - kb * b) / kg, 0.0f, 1.0f);
        out[2] = std::clamp(b, 0.0f, 1.0f);
        total.add(out);
        out += 3;
    }
    total.write(sums);
}

auto thumbnail_row_of(const Yuv& frame) {
    return is_bytes(frame) ? thumbnail_row_yuv<uint8_t> : thumbnail_row_yuv<uint16_t>;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double dot(const float* weight, const double* x, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += weight[i] * x[i];
    return sum;
}

struct Moments {
    double mean, variance;
};

// Mean and variance of channel `c` from the sums of `rows` rows of `n` pixels, in the order of rows whatever thread
// made them.
Moments moments(const std::vector<float>& sums, int rows, int n, int pitch, int c) {
    auto at = [&](int row, int which) { return double(sums[(size_t(row) * 3 + which) * pitch + c]); };
    const double count = double(rows) * n;
    double mean = 0.0, variance = 0.0;
    for (int row = 0; row < rows; ++row) mean += (n * at(row, 0) + at(row, 1)) / count;
    for (int row = 0; row < rows; ++row) {
        const double offset = at(row, 0) - mean;
        variance += (at(row, 2) + offset * (2.0 * at(row, 1) + n * offset)) / count;
    }
    return {mean, std::max(variance, 0.0)};
}

// Rows in groups: each is too little work to be handed out alone.
template <typename Function>
void each_row(Pool& pool, int rows, int threads, Function function) {
    constexpr int group = 8;
    pool.each((rows + group - 1) / group, threads, [&](int64_t unit, int) {
        for (int row = int(unit) * group; row < std::min(rows, int(unit + 1) * group); ++row) function(row);
    });
}

HeadWeights copy(const Layer& layer, int outputs, int inputs) {
    return {{layer.weight, layer.weight + size_t(outputs) * inputs}, {layer.bias, layer.bias + outputs}};
}

// Global average of the last map, plus the projection of the thumbnail's mean and deviation.
void describe(const Predictor& p, int side, PredictorBuffers& buffers) {
    double total[6] = {}, statistics[6];
    for (int row = 0; row < p.thumbnail; ++row)
        for (int i = 0; i < 6; ++i) total[i] += buffers.pixel_sums[size_t(row) * 6 + i];
    const double n = double(p.thumbnail) * p.thumbnail;
    for (int c = 0; c < 3; ++c) {
        const double mean = total[c] / n;
        statistics[c] = mean + 0.5;
        statistics[3 + c] = std::sqrt(std::max(total[3 + c] - n * mean * mean, 0.0) / (n - 1.0)) + constants::STD_EPS;
    }
    for (int c = 0; c < p.width; ++c) {
        double sum = 0.0;
        for (int row = 0; row < side; ++row) sum += buffers.row_sums[size_t(row) * p.pitch + c];
        buffers.descriptor[c] = sum / (double(side) * side) + p.statistics.bias[c] +
                                dot(p.statistics.weight.data() + size_t(6) * c, statistics, 6);
    }
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

template <class Picture>
void predict_any(const Predictor& p, const Kernels& kernels, const Picture& picture, PredictorBuffers& buffers,
                 Pool& pool, int threads, const CorrectionsOut& out) {
    const int size = p.thumbnail;
    for (int x = 0; x < size; ++x) buffers.columns[x] = shrink(x, picture.width, size);
    const auto make_row = thumbnail_row_of(picture);
    each_row(pool, size, threads, [&](int y) {
        float* row = buffers.thumbnail.data() + (size_t(y + 1) * (size + 2) + 1) * 3;
        make_row(picture, buffers.columns, y, row, buffers.pixel_sums.data() + 6 * y);
    });

    const float* in = buffers.thumbnail.data();
    int in_size = size, in_channels = 3, in_pitch = 3;
    for (int i = 0; i < 3; ++i) {
        const int side = in_size / 2;
        float *map = buffers.maps[i].data(), *sums = buffers.row_sums.data();
        float *scale = buffers.normal.data(), *shift = scale + p.pitch, *mean = shift + p.pitch;
        const Convolution layer = {
            in,  map, in_size, in_channels, in_pitch, p.width, p.pitch, p.conv_weight[i].data(), p.conv_bias[i].data(),
            sums};
        const Normalisation norm = {map, side, p.pitch, scale, shift, mean, sums};
        each_row(pool, side, threads, [&](int row) { kernels.convolve_row(layer, row); });
        for (int c = 0; c < p.width; ++c) {
            const Moments channel = moments(buffers.row_sums, side, side, p.pitch, c);
            mean[c] = float(channel.mean);
            scale[c] = float(p.norm_weight[i][c] / std::sqrt(channel.variance + constants::NORM_EPS));
            shift[c] = p.norm_bias[i][c];
        }
        each_row(pool, side, threads, [&](int row) {
            kernels.normalise_row(norm, row);
            if (i == 2) spatial_heads(p, map, side, row, out);
        });
        in = map, in_size = side, in_channels = p.width, in_pitch = p.pitch;
    }
    describe(p, in_size, buffers);
    global_heads(p, buffers.descriptor, out);
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
                    conv_weight[i][(size_t(k) * inputs + c) * pitch + o] =
                        p.conv[i].weight[(size_t(o) * inputs + c) * 9 + k];
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
    columns.resize(size);
    normal.assign(size_t(3) * p.pitch, 0.0f);
    row_sums.assign(size / 2 * 3 * p.pitch, 0.0f);
    pixel_sums.assign(size * 6, 0.0);
    descriptor.assign(p.width, 0.0);
}

void predict(const Predictor& p, const Kernels& kernels, const Image& picture, PredictorBuffers& buffers, Pool& pool,
             int threads, const CorrectionsOut& out) {
    predict_any(p, kernels, picture, buffers, pool, threads, out);
}
void predict(const Predictor& p, const Kernels& kernels, const Yuv& picture, PredictorBuffers& buffers, Pool& pool,
             int threads, const CorrectionsOut& out) {
    predict_any(p, kernels, picture, buffers, pool, threads, out);
}

}  // namespace pic_uie
