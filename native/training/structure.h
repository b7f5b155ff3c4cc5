// SSIM and its contrast-structure factor over five scales, and their gradients (Wang et al. 2003, 2004):
// Gaussian window 11, σ 1.5, valid region, data range 1, 2x2 means between scales.
#pragma once

#include "buffer.h"

namespace PIC_UIE_ISA {

constexpr int kWindow = 11, kMargin = kWindow - 1;
constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;

// The normalised Gaussian as single-precision code computes it, to the last digit: a window whose sum is off by 3e-8
// shifts SSIM by 4e-6, and published values were made with this one.
template <class T>
struct Gaussian {
    const T w[kWindow] = {T(0.00102838036f), T(0.00759875821f), T(0.0360007733f), T(0.109360687f),
                          T(0.213005528f),   T(0.266011715f),   T(0.213005528f),  T(0.109360687f),
                          T(0.0360007733f),  T(0.00759875821f), T(0.00102838036f)};
};

// One row of the five local moments of (x, y), each `valid` long.
template <class T>
class MomentRow {
  public:
    explicit MomentRow(int w) : width(w), valid(std::max(w - kMargin, 0)), columns(5 * w), values(5 * valid) {}

    void compute(const T* x, const T* y, int top) {
        T* __restrict mx = columns.data(), * __restrict my = mx + width, * __restrict xx = my + width;
        T* __restrict yy = xx + width, * __restrict xy = yy + width;
        columns.clear();
        for (int k = 0; k < kWindow; ++k) {
            const T* __restrict a = x + static_cast<std::size_t>(top + k) * width;
            const T* __restrict b = y + static_cast<std::size_t>(top + k) * width;
            const T w = gaussian.w[k];
            for (int i = 0; i < width; ++i) {
                const T wa = w * a[i], wb = w * b[i];
                mx[i] += wa, my[i] += wb, xx[i] += wa * a[i], yy[i] += wb * b[i], xy[i] += wa * b[i];
            }
        }
        for (int moment = 0; moment < 5; ++moment) {
            const T* __restrict in = columns.data() + moment * width;
            T* __restrict out = values.data() + moment * valid;
            const T* w = gaussian.w;
            for (int i = 0; i < valid; ++i)
                out[i] = w[0] * in[i] + w[1] * in[i + 1] + w[2] * in[i + 2] + w[3] * in[i + 3] + w[4] * in[i + 4] +
                         w[5] * in[i + 5] + w[6] * in[i + 6] + w[7] * in[i + 7] + w[8] * in[i + 8] + w[9] * in[i + 9] +
                         w[10] * in[i + 10];
        }
    }

    const T* moment(int index) const { return values.data() + index * valid; }

    const int width, valid;
    const Gaussian<T> gaussian;

  private:
    Buffer<T> columns, values;
};

template <class T>
void scale_means(int height, int width, const T* x, const T* y, double* means) {
    MomentRow<T> row(width);
    double ssim = 0, contrast = 0;
    for (int top = 0; top < height - kMargin; ++top) {
        row.compute(x, y, top);
        const T *mx = row.moment(0), *my = row.moment(1), *xx = row.moment(2), *yy = row.moment(3), *xy = row.moment(4);
        T row_ssim = 0, row_contrast = 0;
        for (int i = 0; i < row.valid; ++i) {
            const T mxx = mx[i] * mx[i], myy = my[i] * my[i], mxy = mx[i] * my[i];
            const T cs = (2 * (xy[i] - mxy) + T(kC2)) / ((xx[i] - mxx) + (yy[i] - myy) + T(kC2));
            row_contrast += cs;
            row_ssim += cs * (2 * mxy + T(kC1)) / (mxx + myy + T(kC1));
        }
        ssim += static_cast<double>(row_ssim);
        contrast += static_cast<double>(row_contrast);
    }
    const double count = static_cast<double>(height - kMargin) * row.valid;
    means[0] = ssim / count;
    means[1] = contrast / count;
}

// Adds c_ssim · d(mean SSIM)/dx + c_contrast · d(mean contrast-structure)/dx.
template <class T>
void scale_gradient(int height, int width, const T* x, const T* y, double c_ssim, double c_contrast, T* gradient) {
    MomentRow<T> row(width);
    const int valid = row.valid, rows = height - kMargin;
    const double count = static_cast<double>(rows) * valid;
    const T a = static_cast<T>(c_ssim / count), b = static_cast<T>(c_contrast / count);
    const T* w = row.gaussian.w;
    Buffer<T> padded(3 * (width + kMargin)), spread(static_cast<std::size_t>(rows) * 3 * width), sums(3 * width);
    T* __restrict d_m = padded.data() + kMargin, * __restrict d_xx = d_m + width + kMargin;
    T* __restrict d_xy = d_xx + width + kMargin;
    for (int top = 0; top < rows; ++top) {
        row.compute(x, y, top);
        const T *mx = row.moment(0), *my = row.moment(1), *xx = row.moment(2), *yy = row.moment(3), *xy = row.moment(4);
        for (int i = 0; i < valid; ++i) {
            const T mxx = mx[i] * mx[i], myy = my[i] * my[i], mxy = mx[i] * my[i];
            const T cs_bottom = 1 / ((xx[i] - mxx) + (yy[i] - myy) + T(kC2)), l_bottom = 1 / (mxx + myy + T(kC1));
            const T cs = (2 * (xy[i] - mxy) + T(kC2)) * cs_bottom, l = (2 * mxy + T(kC1)) * l_bottom;
            const T d_cs = a * l + b, d_l = a * cs;
            const T d_variance = -d_cs * cs * cs_bottom, d_covariance = 2 * d_cs * cs_bottom;
            d_m[i] = 2 * d_l * (my[i] - l * mx[i]) * l_bottom - 2 * mx[i] * d_variance - my[i] * d_covariance;
            d_xx[i] = d_variance;
            d_xy[i] = d_covariance;
        }
        for (int map = 0; map < 3; ++map) {  // the transposed horizontal filter: `padded` has zeros on both sides
            const T* __restrict in = padded.data() + map * (width + kMargin);
            T* __restrict out = spread.data() + (static_cast<std::size_t>(top) * 3 + map) * width;
            for (int i = 0; i < width; ++i)
                out[i] = w[10] * in[i] + w[9] * in[i + 1] + w[8] * in[i + 2] + w[7] * in[i + 3] + w[6] * in[i + 4] +
                         w[5] * in[i + 5] + w[4] * in[i + 6] + w[3] * in[i + 7] + w[2] * in[i + 8] + w[1] * in[i + 9] +
                         w[0] * in[i + 10];
        }
    }
    for (int r = 0; r < height; ++r) {
        sums.clear();
        for (int k = std::max(0, r - rows + 1); k <= std::min(kMargin, r); ++k) {
            const T* __restrict in = spread.data() + static_cast<std::size_t>(r - k) * 3 * width;
            T* __restrict out = sums.data();
            for (int i = 0; i < 3 * width; ++i) out[i] += w[k] * in[i];
        }
        const T *xr = x + static_cast<std::size_t>(r) * width, *yr = y + static_cast<std::size_t>(r) * width;
        T* g = gradient + static_cast<std::size_t>(r) * width;
        for (int i = 0; i < width; ++i) g[i] += sums[i] + 2 * xr[i] * sums[width + i] + yr[i] * sums[2 * width + i];
    }
}

// 2x2 means; an odd side is padded with a zero on each end, as avg_pool2d(padding=1) does.
struct Halving {
    int height, width, pad_y, pad_x;
    Halving(int h, int w) : height((h + h % 2) / 2), width((w + w % 2) / 2), pad_y(h % 2), pad_x(w % 2) {}
    std::size_t size() const { return static_cast<std::size_t>(height) * width; }
};

template <class T>
void halve(int height, int width, const T* in, T* out) {
    const Halving half(height, width);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            out[static_cast<std::size_t>((y + half.pad_y) / 2) * half.width + (x + half.pad_x) / 2] +=
                T(0.25) * in[static_cast<std::size_t>(y) * width + x];
}

template <class T>
void halve_backward(int height, int width, const T* half_gradient, T* gradient) {
    const Halving half(height, width);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            gradient[static_cast<std::size_t>(y) * width + x] +=
                T(0.25) *
                half_gradient[static_cast<std::size_t>((y + half.pad_y) / 2) * half.width + (x + half.pad_x) / 2];
}

template <class T>
void structure(int height, int width, int scales, const T* x, const T* y, double* means) {
    scale_means(height, width, x, y, means);
    if (scales == 1) return;
    const Halving half(height, width);
    Buffer<T> small_x(half.size()), small_y(half.size());
    halve(height, width, x, small_x.data());
    halve(height, width, y, small_y.data());
    structure(half.height, half.width, scales - 1, small_x.data(), small_y.data(), means + 2);
}

template <class T>
void structure_backward(int height, int width, int scales, const T* x, const T* y, const double* coefficients,
                        T* gradient) {
    if (coefficients[0] != 0.0 || coefficients[1] != 0.0)
        scale_gradient(height, width, x, y, coefficients[0], coefficients[1], gradient);
    if (scales == 1) return;
    const Halving half(height, width);
    Buffer<T> small_x(half.size()), small_y(half.size());
    halve(height, width, x, small_x.data());
    halve(height, width, y, small_y.data());
    Buffer<T> small_gradient(half.size());
    structure_backward(half.height, half.width, scales - 1, small_x.data(), small_y.data(), coefficients + 2,
                       small_gradient.data());
    halve_backward(height, width, small_gradient.data(), gradient);
}

}  // namespace PIC_UIE_ISA
