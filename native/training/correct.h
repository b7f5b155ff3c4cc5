// Eqs. 2-3 and the first line of Eq. 4: z¹ with its statistics, and its gradient.
#pragma once

#include "executor.h"

namespace PIC_UIE_ISA {

// Γ(Y¹) of the whole picture.
template <class T>
void tone_plane(const Shape& s, Reader<T>& reader, Plane<T>& toned) {
    Row<T> r(s.width);
    for (int y = 0; y < s.height; ++y) {
        reader.read(y, r);
        for (int x = 0; x < s.width; ++x) toned.row(y)[x] = reader.toned(r, x);
    }
}

template <class T>
void moments(std::size_t pixels, const T* z, double* mean, double* covariance) {
    for (int i = 0; i < 3; ++i) {
        double sum = 0;
        for (std::size_t p = 0; p < pixels; ++p) sum += static_cast<double>(z[i * pixels + p]);
        mean[i] = sum / static_cast<double>(pixels);
    }
    const double divisor = pixels > 1 ? static_cast<double>(pixels - 1) : 1.0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::size_t p = 0; p < pixels; ++p)
                sum += (static_cast<double>(z[i * pixels + p]) - mean[i]) *
                       (static_cast<double>(z[j * pixels + p]) - mean[j]);
            covariance[3 * i + j] = covariance[3 * j + i] = sum / divisor;
        }
}

template <class T>
void correct(const Shape& s, const Inputs<T>& in, T* z1, T* refined, double* mean, double* covariance) {
    Reader<T> reader(s, in);
    Plane<T> toned(s.height, s.width), raw2(s.height, s.width);
    tone_plane(s, reader, toned);
    refine(toned, in.refiner, raw2);
    Row<T> r(s.width);
    const std::size_t pixels = static_cast<std::size_t>(s.height) * s.width;
    const T* m = in.matrix;
    for (int y = 0; y < s.height; ++y) {
        reader.read(y, r);
        const std::size_t start = static_cast<std::size_t>(y) * s.width;
        T *out = z1 + start, *kept = refined + start;
        for (int x = 0; x < s.width; ++x) {
            kept[x] = raw2.row(y)[x];
            const T y2 = clip01(kept[x]);
            const T g = clip01(in.beta_gamma[0] + in.beta_gamma[1] * (1 - r.t[x]));
            const T cb = r.cb[x] + g * (reader.mapped(r, x, 0) - r.cb[x]);
            const T cr = r.cr[x] + g * (reader.mapped(r, x, 1) - r.cr[x]);
            out[x] = clip01(m[0] * y2 + m[1] * cb + m[2] * cr + in.bias[0]);
            out[x + pixels] = m[3] * y2 + m[4] * cb + m[5] * cr + in.bias[1];
            out[x + 2 * pixels] = m[6] * y2 + m[7] * cb + m[8] * cr + in.bias[2];
        }
    }
    moments(pixels, z1, mean, covariance);
}

template <class T>
void correct_backward(const Shape& s, const Inputs<T>& in, const T* z1, const T* refined, const double* mean,
                      const T* z1_gradient, const double* mean_gradient, const double* covariance_gradient,
                      const Gradients<T>& grad) {
    Reader<T> reader(s, in);
    Plane<T> toned(s.height, s.width), d_raw2(s.height, s.width), d_toned(s.height, s.width);
    tone_plane(s, reader, toned);
    std::fill_n(grad.t, s.field_height * s.field_width, T(0));
    std::fill_n(grad.v, s.field_height * s.field_width, T(0));
    std::fill_n(grad.a, s.field_height * s.field_width, T(0));
    std::fill_n(grad.tone, s.tones, T(0));
    std::fill_n(grad.lut, 2 * s.grid * s.grid, T(0));

    const std::size_t pixels = static_cast<std::size_t>(s.height) * s.width;
    const double share = 1.0 / static_cast<double>(pixels),
                 divisor = pixels > 1 ? static_cast<double>(pixels - 1) : 1.0;
    T to_mean[3], to_deviation[9], centre[3];
    for (int i = 0; i < 3; ++i) {
        to_mean[i] = static_cast<T>(mean_gradient[i] * share);
        centre[i] = static_cast<T>(mean[i]);
        for (int j = 0; j < 3; ++j)
            to_deviation[3 * i + j] =
                static_cast<T>((covariance_gradient[3 * i + j] + covariance_gradient[3 * j + i]) / divisor);
    }
    const T *m = in.matrix, beta = in.beta_gamma[0], gamma = in.beta_gamma[1];
    double d_matrix[9] = {}, d_bias[3] = {}, d_beta = 0, d_gamma = 0;
    Row<T> r(s.width);
    Plane<T> d_murk(s.height, s.width);  // what reaches 1 - t through the gate
    for (int y = 0; y < s.height; ++y) {
        reader.read(y, r);
        T row_matrix[9] = {}, row_bias[3] = {}, row_beta = 0, row_gamma = 0;
        for (int x = 0; x < s.width; ++x) {
            const std::size_t at = static_cast<std::size_t>(y) * s.width + x;
            const T raw2 = refined[at], y2 = clip01(raw2), murk = 1 - r.t[x];
            const T raw_gate = beta + gamma * murk, g = clip01(raw_gate);
            const T change_cb = reader.mapped(r, x, 0) - r.cb[x], change_cr = reader.mapped(r, x, 1) - r.cr[x];
            const T z0[3] = {y2, r.cb[x] + g * change_cb, r.cr[x] + g * change_cr};
            T deviation[3], d_z1[3];
            for (int i = 0; i < 3; ++i) deviation[i] = z1[at + i * pixels] - centre[i];
            for (int i = 0; i < 3; ++i)
                d_z1[i] = z1_gradient[at + i * pixels] + to_mean[i] + to_deviation[3 * i] * deviation[0] +
                          to_deviation[3 * i + 1] * deviation[1] + to_deviation[3 * i + 2] * deviation[2];
            d_z1[0] *= inside01(m[0] * z0[0] + m[1] * z0[1] + m[2] * z0[2] + in.bias[0]);
            for (int i = 0; i < 3; ++i) {
                row_bias[i] += d_z1[i];
                for (int j = 0; j < 3; ++j) row_matrix[3 * i + j] += d_z1[i] * z0[j];
            }
            const T d_y2 = m[0] * d_z1[0] + m[3] * d_z1[1] + m[6] * d_z1[2];
            const T d_cb = m[1] * d_z1[0] + m[4] * d_z1[1] + m[7] * d_z1[2];
            const T d_cr = m[2] * d_z1[0] + m[5] * d_z1[1] + m[8] * d_z1[2];
            d_raw2.row(y)[x] = d_toned.row(y)[x] = d_y2 * inside01(raw2);

            const T d_gate = (d_cb * change_cb + d_cr * change_cr) * inside01(raw_gate);
            row_beta += d_gate;
            row_gamma += d_gate * murk;
            d_murk.row(y)[x] = d_gate * gamma;
            const T fx = r.fx[x], fy = r.fy[x];
            const T weights[4] = {(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy};
            const T d_mapped[2] = {T(k::CHROMA_LIMIT) * g * d_cb, T(k::CHROMA_LIMIT) * g * d_cr};
            for (int channel = 0; channel < 2; ++channel) {
                T* p = grad.lut + channel * s.grid * s.grid + r.cell[x];
                p[0] += weights[0] * d_mapped[channel];
                p[1] += weights[1] * d_mapped[channel];
                p[s.grid] += weights[2] * d_mapped[channel];
                p[s.grid + 1] += weights[3] * d_mapped[channel];
            }
        }
        for (int i = 0; i < 9; ++i) d_matrix[i] += static_cast<double>(row_matrix[i]);
        for (int i = 0; i < 3; ++i) d_bias[i] += static_cast<double>(row_bias[i]);
        d_beta += static_cast<double>(row_beta);
        d_gamma += static_cast<double>(row_gamma);
    }
    for (int i = 0; i < 9; ++i) grad.matrix[i] = static_cast<T>(d_matrix[i]);
    for (int i = 0; i < 3; ++i) grad.bias[i] = static_cast<T>(d_bias[i]);
    grad.beta_gamma[0] = static_cast<T>(d_beta);
    grad.beta_gamma[1] = static_cast<T>(d_gamma);

    refine_backward(toned, in.refiner, d_raw2, d_toned, grad.refiner);

    Buffer<T> dt(s.width), dv(s.width), da(s.width);
    const T intervals = T(s.tones - 1);
    for (int y = 0; y < s.height; ++y) {
        reader.read(y, r);
        for (int x = 0; x < s.width; ++x) {
            const T d = d_toned.row(y)[x], *sample = in.tone + r.interval[x], murk = 1 - r.t[x];
            grad.tone[r.interval[x]] += d * (1 - r.fraction[x]);
            grad.tone[r.interval[x] + 1] += d * r.fraction[x];
            const T d1 = d * intervals * (sample[1] - sample[0]) * inside01(r.raw1[x]);
            dv[x] = -d1 * murk * r.gain[x];
            da[x] = d1 * r.veiled[x] * murk;
            dt[x] = -(d1 * (r.a[x] * r.veiled[x] - r.v[x] * r.gain[x]) + d_murk.row(y)[x]);
        }
        reader.scatter_fields(y, dt.data(), dv.data(), da.data(), grad);
    }
}

}  // namespace PIC_UIE_ISA
