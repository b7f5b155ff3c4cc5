// The predictor's body, three times [3x3 convolution with stride 2, instance normalisation, ReLU], and its gradient.
//
// A row of the input is kept as its even and its odd columns, so that a stride of 2 becomes three plain loads:
// taps 0, 1, 2 of output column j read odd[j - 1], even[j], odd[j].
#pragma once

#include <cmath>

#include "base/vector.h"
#include "buffer.h"
#include "constants.h"
#include "contract.h"

namespace PIC_UIE_ISA {

using pic_uie::training::BodyShape;
namespace k = pic_uie::constants;

// 64 bytes whatever the instruction set, so that sums are taken in one order everywhere.
template <class T>
using Wide = Vector<T, 64>;
template <class T>
inline constexpr int WIDTH = 64 / int(sizeof(T));

// Channels of rows with zeros around: one row above and below, a vector to the left, two to the right.
template <class T>
class Rows {
  public:
    Rows(int channels, int height, int width)
        : stride((width / WIDTH<T> + 4) * WIDTH<T>),
          plane(static_cast<std::size_t>(height + 2) * stride),
          values(channels * plane) {}
    T* row(int channel, int y) { return values.data() + channel * plane + (y + 1) * stride + WIDTH<T>; }
    const T* row(int channel, int y) const { return values.data() + channel * plane + (y + 1) * stride + WIDTH<T>; }

  private:
    const std::size_t stride, plane;
    Buffer<T> values;
};

template <class T>
struct Split {  // an image as even and odd columns
    Rows<T> even, odd;
    Split(int channels, int size) : even(channels, size, size / 2), odd(channels, size, size / 2) {}
    void write(int channel, int y, const T* row, int size) {
        T *e = even.row(channel, y), *o = odd.row(channel, y);
        for (int j = 0; j < size / 2; ++j) e[j] = row[2 * j], o[j] = row[2 * j + 1];
    }
};

template <class T>
struct Block {  // parameters of one block, as they lie in the packed vector
    const T *kernel, *bias, *gain, *shift;
};

inline int block_size(const BodyShape& s, int block) { return s.width * ((block ? s.width : s.channels) * 9 + 3); }

template <class T>
Block<T> block_of(const BodyShape& s, const T* packed, int block) {
    for (int i = 0; i < block; ++i) packed += block_size(s, i);
    const T* bias = packed + static_cast<std::size_t>(s.width) * (block ? s.width : s.channels) * 9;
    return {packed, bias, bias + s.width, bias + 2 * s.width};
}

template <int N, class T>
void convolve_block(const Split<T>& x, int channels, const T* kernel, const T* bias, int o, int size, Rows<T>& out) {
    for (int r = 0; r < size; ++r)
        for (int j = 0; j < size; j += WIDTH<T>) {
            Wide<T> sum[N];
            for (int n = 0; n < N; ++n) sum[n] = Wide<T>{} + bias[o + n];
            for (int i = 0; i < channels; ++i)
                for (int ky = 0; ky < 3; ++ky) {
                    const T *even = x.even.row(i, 2 * r + ky - 1) + j, *odd = x.odd.row(i, 2 * r + ky - 1) + j;
                    const Wide<T> a = load_as<Wide<T>>(odd - 1), b = load_as<Wide<T>>(even), c = load_as<Wide<T>>(odd);
                    for (int n = 0; n < N; ++n) {
                        const T* k = kernel + (static_cast<std::size_t>(o + n) * channels + i) * 9 + 3 * ky;
                        sum[n] += a * k[0] + b * k[1] + c * k[2];
                    }
                }
            for (int n = 0; n < N; ++n) store_as(out.row(o + n, r) + j, sum[n]);
        }
}

// Writes the normalised convolution to `normal` (width, size, size) and 1 / deviation to `scale`.
template <class T>
void normalise(const Rows<T>& conv, int width, int size, T* normal, T* scale) {
    const double pixels = static_cast<double>(size) * size;
    for (int o = 0; o < width; ++o) {
        double sum = 0, squares = 0;
        for (int r = 0; r < size; ++r) {
            T row = 0;
            for (int j = 0; j < size; ++j) row += conv.row(o, r)[j];
            sum += static_cast<double>(row);
        }
        const T mean = static_cast<T>(sum / pixels);
        for (int r = 0; r < size; ++r) {
            T row = 0;
            for (int j = 0; j < size; ++j) row += (conv.row(o, r)[j] - mean) * (conv.row(o, r)[j] - mean);
            squares += static_cast<double>(row);
        }
        scale[o] = static_cast<T>(1.0 / std::sqrt(squares / pixels + k::NORM_EPS));
        for (int r = 0; r < size; ++r)
            for (int j = 0; j < size; ++j) *normal++ = (conv.row(o, r)[j] - mean) * scale[o];
    }
}

template <class T>
void activate(const T* normal, T gain, T shift, int count, T* out) {
    for (int j = 0; j < count; ++j) out[j] = std::max(gain * normal[j] + shift, T(0));
}

// The input of a block, split: the thumbnail, or what the block before left in `saved`.
template <class T>
void read_input(const BodyShape& s, int block, const T* thumbnail, const T* normal, const Block<T>& before,
                Split<T>& x) {
    const int size = s.size >> block, channels = block ? s.width : s.channels;
    Buffer<T> row(size);
    for (int c = 0; c < channels; ++c)
        for (int y = 0; y < size; ++y) {
            const std::size_t at = (static_cast<std::size_t>(c) * size + y) * size;
            if (block) activate(normal + at, before.gain[c], before.shift[c], size, row.data());
            x.write(c, y, block ? row.data() : thumbnail + at, size);
        }
}

// Offsets into what the forward pass saves: three normalised maps, then three vectors of scales.
inline std::size_t saved_map(const BodyShape& s, int block) {
    std::size_t at = 0;
    for (int i = 0; i < block; ++i) at += static_cast<std::size_t>(s.width) * (s.size >> (i + 1)) * (s.size >> (i + 1));
    return at;
}

template <class T>
void body(const BodyShape& s, const T* thumbnail, const T* packed, T* saved, T* features) {
    for (int block = 0; block < 3; ++block) {
        const int size = s.size >> (block + 1), channels = block ? s.width : s.channels;
        const Block<T> p = block_of(s, packed, block), before = block_of(s, packed, std::max(block - 1, 0));
        Split<T> x(channels, 2 * size);
        read_input(s, block, thumbnail, saved + saved_map(s, std::max(block - 1, 0)), before, x);
        Rows<T> conv(s.width, size, size);
        int o = 0;
        for (; o + 4 <= s.width; o += 4) convolve_block<4>(x, channels, p.kernel, p.bias, o, size, conv);
        for (; o < s.width; ++o) convolve_block<1>(x, channels, p.kernel, p.bias, o, size, conv);
        normalise(conv, s.width, size, saved + saved_map(s, block), saved + saved_map(s, 3) + block * s.width);
    }
    const Block<T> last = block_of(s, packed, 2);
    const int pixels = (s.size >> 3) * (s.size >> 3);
    for (int o = 0; o < s.width; ++o)
        activate(saved + saved_map(s, 2) + o * pixels, last.gain[o], last.shift[o], pixels, features + o * pixels);
}

// Through ReLU and normalisation: from the gradient of a block's output to that of its convolution.
template <class T>
void normalise_backward(const T* normal, const Block<T>& p, const T* scale, const T* gradient, int width, int size,
                        Rows<T>& d_conv, T* d_bias, T* d_gain, T* d_shift) {
    const int pixels = size * size;
    Buffer<T> masked(pixels);
    for (int o = 0; o < width; ++o, normal += pixels, gradient += pixels) {
        double shift = 0, gain = 0, bias = 0;
        for (int r = 0; r < size; ++r) {
            T row_shift = 0, row_gain = 0;
            for (int at = r * size; at < (r + 1) * size; ++at) {
                masked[at] = p.gain[o] * normal[at] + p.shift[o] > T(0) ? gradient[at] : T(0);
                row_shift += masked[at];
                row_gain += masked[at] * normal[at];
            }
            shift += static_cast<double>(row_shift);
            gain += static_cast<double>(row_gain);
        }
        d_shift[o] = static_cast<T>(shift);
        d_gain[o] = static_cast<T>(gain);
        const T mean = static_cast<T>(shift / pixels), slope = static_cast<T>(gain / pixels),
                factor = scale[o] * p.gain[o];
        for (int r = 0; r < size; ++r) {
            T *out = d_conv.row(o, r), sum = 0;
            for (int j = 0; j < size; ++j) {
                out[j] = factor * (masked[r * size + j] - mean - normal[r * size + j] * slope);
                sum += out[j];
            }
            bias += static_cast<double>(sum);
        }
        d_bias[o] = static_cast<T>(bias);
    }
}

template <int N, class T>
void kernel_gradient(const Split<T>& x, const Rows<T>& d_conv, int channels, int o, int i, int size, T* d_kernel) {
    Wide<T> sum[N][9] = {};
    for (int r = 0; r < size; ++r)
        for (int j = 0; j < size; j += WIDTH<T>) {
            Wide<T> g[N];
            for (int n = 0; n < N; ++n) g[n] = load_as<Wide<T>>(d_conv.row(o + n, r) + j);
            for (int ky = 0; ky < 3; ++ky) {
                const T *even = x.even.row(i, 2 * r + ky - 1) + j, *odd = x.odd.row(i, 2 * r + ky - 1) + j;
                const Wide<T> a = load_as<Wide<T>>(odd - 1), b = load_as<Wide<T>>(even), c = load_as<Wide<T>>(odd);
                for (int n = 0; n < N; ++n) {
                    sum[n][3 * ky] += g[n] * a;
                    sum[n][3 * ky + 1] += g[n] * b;
                    sum[n][3 * ky + 2] += g[n] * c;
                }
            }
        }
    for (int n = 0; n < N; ++n)
        for (int k = 0; k < 9; ++k) {
            double total = 0;
            for (int lane = 0; lane < WIDTH<T>; ++lane) total += static_cast<double>(sum[n][k][lane]);
            d_kernel[(static_cast<std::size_t>(o + n) * channels + i) * 9 + k] = static_cast<T>(total);
        }
}

// The gradient of a block's input, (channels, 2 · size, 2 · size), channels i .. i + N - 1.
template <int N, class T>
void input_gradient(const Rows<T>& d_conv, const T* kernel, int width, int channels, int i, int size, T* gradient) {
    const int side = 2 * size;
    Buffer<T> line(2 * (size + WIDTH<T>));
    for (int y = 0; y < side; ++y)
        for (int j = 0; j < size; j += WIDTH<T>) {
            Wide<T> even[N] = {}, odd[N] = {};
            for (int o = 0; o < width; ++o)
                for (int ky = 1 - y % 2; ky < 3; ky += 2) {  // an even row meets tap 1, an odd one taps 0 and 2
                    const T* g = d_conv.row(o, (y + 1 - ky) / 2) + j;
                    const Wide<T> here = load_as<Wide<T>>(g), next = load_as<Wide<T>>(g + 1);
                    for (int n = 0; n < N; ++n) {
                        const T* k = kernel + (static_cast<std::size_t>(o) * channels + i + n) * 9 + 3 * ky;
                        even[n] += here * k[1];
                        odd[n] += here * k[2] + next * k[0];
                    }
                }
            for (int n = 0; n < N; ++n) {
                T* out = gradient + (static_cast<std::size_t>(i + n) * side + y) * side;
                for (int lane = 0; lane < std::min(WIDTH<T>, size - j); ++lane) {
                    out[2 * (j + lane)] = even[n][lane];
                    out[2 * (j + lane) + 1] = odd[n][lane];
                }
            }
        }
}

template <class T>
void body_backward(const BodyShape& s, const T* thumbnail, const T* packed, const T* saved, const T* features_gradient,
                   T* packed_gradient) {
    const std::size_t largest = static_cast<std::size_t>(s.width) * (s.size / 2) * (s.size / 2);
    Buffer<T> gradient(largest), below(largest);
    std::copy_n(features_gradient, static_cast<std::size_t>(s.width) * (s.size >> 3) * (s.size >> 3), gradient.data());
    for (int block = 2; block >= 0; --block) {
        const int size = s.size >> (block + 1), channels = block ? s.width : s.channels;
        const Block<T> p = block_of(s, packed, block), before = block_of(s, packed, std::max(block - 1, 0));
        T* d_kernel = const_cast<T*>(block_of<T>(s, packed_gradient, block).kernel);
        T* d_bias = d_kernel + static_cast<std::size_t>(s.width) * channels * 9;
        Rows<T> d_conv(s.width, size, size);
        normalise_backward(saved + saved_map(s, block), p, saved + saved_map(s, 3) + block * s.width, gradient.data(),
                           s.width, size, d_conv, d_bias, d_bias + s.width, d_bias + 2 * s.width);
        Split<T> x(channels, 2 * size);
        read_input(s, block, thumbnail, saved + saved_map(s, std::max(block - 1, 0)), before, x);
        for (int i = 0; i < channels; ++i) {
            int o = 0;
            for (; o + 2 <= s.width; o += 2) kernel_gradient<2>(x, d_conv, channels, o, i, size, d_kernel);
            for (; o < s.width; ++o) kernel_gradient<1>(x, d_conv, channels, o, i, size, d_kernel);
        }
        if (!block) break;
        int i = 0;
        for (; i + 4 <= channels; i += 4) input_gradient<4>(d_conv, p.kernel, s.width, channels, i, size, below.data());
        for (; i < channels; ++i) input_gradient<1>(d_conv, p.kernel, s.width, channels, i, size, below.data());
        std::copy_n(below.data(), static_cast<std::size_t>(s.width) * 4 * size * size, gradient.data());
    }
}

}  // namespace PIC_UIE_ISA
