// One image channel with a border of zeros, and the two 3x3 operations that the refiner's training is made of.
#pragma once

#include "buffer.h"

namespace PIC_UIE_ISA {

template <class T>
class Plane {
  public:
    Plane(int h, int w)
        : height(h),
          width(w),
          stride(kLine + (w + kLine) / kLine * kLine),
          values(static_cast<std::size_t>(h + 2) * stride) {}

    T* row(int y) { return values.data() + static_cast<std::size_t>(y + 1) * stride + kLine; }
    const T* row(int y) const { return values.data() + static_cast<std::size_t>(y + 1) * stride + kLine; }

    const int height, width;

  private:
    static constexpr int kLine =
        64 / sizeof(T);  // of the cache: rows begin at whole lines, with zeros to the left and right
    const int stride;
    Buffer<T> values;
};

// The 3x3 kernel as the gradient of its input meets it.
template <class T>
struct Turned {
    T w[9];
    explicit Turned(const T* kernel) {
        for (int k = 0; k < 9; ++k) w[k] = kernel[8 - k];
    }
};

// For every row y, finish(y) returns what takes its results: put(x, sum), sum = bias + Σ kernel · source around (y, x).
template <class T, class Finish>
void convolve(const Plane<T>& source, const T* kernel, T bias, Finish finish) {
    const T k0 = kernel[0], k1 = kernel[1], k2 = kernel[2], k3 = kernel[3], k4 = kernel[4];
    const T k5 = kernel[5], k6 = kernel[6], k7 = kernel[7], k8 = kernel[8];
    const int width = source.width;
    Buffer<T> sums(width);
    for (int y = 0; y < source.height; ++y) {
        const T* __restrict a = source.row(y - 1), * __restrict b = source.row(y), * __restrict c = source.row(y + 1);
        T* __restrict out = sums.data();
        for (int x = 0; x < width; ++x)
            out[x] = bias + k0 * a[x - 1] + k1 * a[x] + k2 * a[x + 1] + k3 * b[x - 1] + k4 * b[x] + k5 * b[x + 1] +
                     k6 * c[x - 1] + k7 * c[x] + k8 * c[x + 1];
        const auto put = finish(y);
        PIC_UIE_INDEPENDENT
        for (int x = 0; x < width; ++x) put(x, out[x]);
    }
}

// The gradient of a 3x3 kernel and its bias, given the gradient of the result and the source.
template <class T>
void correlate(const Plane<T>& gradient, const Plane<T>& source, T* kernel_gradient, T* bias_gradient) {
    double totals[10] = {};
    for (int y = 0; y < source.height; ++y) {
        const T* __restrict a = source.row(y - 1), * __restrict b = source.row(y), * __restrict c = source.row(y + 1);
        const T* __restrict g = gradient.row(y);
        T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0, s9 = 0;
        for (int x = 0; x < source.width; ++x) {
            s0 += g[x] * a[x - 1], s1 += g[x] * a[x], s2 += g[x] * a[x + 1];
            s3 += g[x] * b[x - 1], s4 += g[x] * b[x], s5 += g[x] * b[x + 1];
            s6 += g[x] * c[x - 1], s7 += g[x] * c[x], s8 += g[x] * c[x + 1];
            s9 += g[x];
        }
        const T sums[10] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9};
        for (int k = 0; k < 10; ++k) totals[k] += static_cast<double>(sums[k]);
    }
    for (int k = 0; k < 9; ++k) kernel_gradient[k] = static_cast<T>(totals[k]);
    *bias_gradient = static_cast<T>(totals[9]);
}

}  // namespace PIC_UIE_ISA
