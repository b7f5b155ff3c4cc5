// What the executor is made of: fields, rows before the refiner, and the refiner with its gradient. Symbols are the paper's.
#pragma once

#include "base/bilinear.h"
#include "constants.h"
#include "contract.h"
#include "plane.h"

namespace PIC_UIE_ISA {

using pic_uie::training::Gradients;
using pic_uie::training::Inputs;
using pic_uie::training::kDepthwise;
using pic_uie::training::kDepthwiseBias;
using pic_uie::training::kExpand;
using pic_uie::training::kExpandBias;
using pic_uie::training::kProject;
using pic_uie::training::kProjectBias;
using pic_uie::training::kRefinerWidth;
using pic_uie::training::Shape;
namespace k = pic_uie::constants;

template <class T>
T clip01(T x) {  // NaN becomes 0: a run that diverges must not read outside its tables
    return x > T(0) ? (x < T(1) ? x : T(1)) : T(0);
}

template <class T>
T inside01(T x) {  // the gradient of clip01, 1 at both ends
    return x >= T(0) && x <= T(1) ? T(1) : T(0);
}

// Bilinear resampling along one axis, half-pixel centres, clamped: position p reads cells left[p] and right[p].
template <class T>
struct Axis {
    Buffer<int> left, right;
    Buffer<T> weight;  // of the right cell

    Axis(int cells, int positions) : left(positions), right(positions), weight(positions) {
        for (int p = 0; p < positions; ++p) {
            const auto at = pic_uie::between<T>(p, cells, positions);
            left[p] = static_cast<int>(at.left);
            right[p] = static_cast<int>(at.right);
            weight[p] = at.fraction;
        }
    }
};

// One field of θ, sampled row by row, and the way back for its gradient.
template <class T>
class Field {
  public:
    Field(const Axis<T>& down, const Axis<T>& across, int width)
        : rows(down), columns(across), cells(width), line(width) {}

    void sample(const T* field, int y, T* out) {
        const T *top = field + rows.left[y] * cells, *bottom = field + rows.right[y] * cells, w = rows.weight[y];
        for (int i = 0; i < cells; ++i) line[i] = top[i] + w * (bottom[i] - top[i]);
        for (std::size_t x = 0; x < columns.left.size(); ++x)
            out[x] = line[columns.left[x]] + columns.weight[x] * (line[columns.right[x]] - line[columns.left[x]]);
    }

    void scatter(const T* gradient, int y, T* field) {
        line.clear();
        for (std::size_t x = 0; x < columns.left.size(); ++x) {
            line[columns.left[x]] += (1 - columns.weight[x]) * gradient[x];
            line[columns.right[x]] += columns.weight[x] * gradient[x];
        }
        T *top = field + rows.left[y] * cells, *bottom = field + rows.right[y] * cells;
        for (int i = 0; i < cells; ++i) top[i] += (1 - rows.weight[y]) * line[i];
        for (int i = 0; i < cells; ++i) bottom[i] += rows.weight[y] * line[i];
    }

  private:
    const Axis<T>&rows, &columns;
    const int cells;
    Buffer<T> line;
};

// A row of the picture with everything before the refiner and the chroma table's four corners.
template <class T>
struct Row {
    explicit Row(int width)
        : y(width),
          cb(width),
          cr(width),
          t(width),
          v(width),
          a(width),
          veiled(width),
          gain(width),
          raw1(width),
          interval(width),
          fraction(width),
          cell(width),
          fx(width),
          fy(width) {}
    Buffer<T> y, cb, cr, t, v, a, veiled, gain, raw1;
    Buffer<int> interval;
    Buffer<T> fraction;  // position of Y¹ within its tone interval
    Buffer<int> cell;
    Buffer<T> fx, fy;  // position of q within its cell of U
};

template <class T>
class Reader {
  public:
    Reader(const Shape& shape, const Inputs<T>& inputs)
        : s(shape),
          in(inputs),
          rows(shape.field_height, shape.height),
          columns(shape.field_width, shape.width),
          field(rows, columns, shape.field_width) {}

    void read(int y, Row<T>& r) {
        const std::size_t pixels = static_cast<std::size_t>(s.height) * s.width;
        const T *red = in.rgb + static_cast<std::size_t>(y) * s.width, *green = red + pixels, *blue = green + pixels;
        field.sample(in.t, y, r.t.data());
        field.sample(in.v, y, r.v.data());
        field.sample(in.a, y, r.a.data());
        const T intervals = T(s.tones - 1), cells = T(s.grid - 1), limit = T(k::CHROMA_LIMIT);
        for (int x = 0; x < s.width; ++x) {
            const T luma = T(k::LUMA_R) * red[x] + T(k::LUMA_G) * green[x] + T(k::LUMA_B) * blue[x];
            r.y[x] = luma;
            r.cb[x] = T(k::CB_SCALE) * (blue[x] - luma);
            r.cr[x] = T(k::CR_SCALE) * (red[x] - luma);
            const T murk = 1 - r.t[x];
            r.veiled[x] = luma - murk * r.v[x];
            r.gain[x] = 1 + r.a[x] * murk;
            r.raw1[x] = r.veiled[x] * r.gain[x];  // Eq. 2
        }
        for (int x = 0; x < s.width; ++x) {
            const T position = clip01(r.raw1[x]) * intervals;
            r.interval[x] = std::min(static_cast<int>(position), s.tones - 2);
            r.fraction[x] = position - T(r.interval[x]);
            const T px = std::min(std::max((r.cb[x] + limit) / (2 * limit) * cells, T(0)), cells);
            const T py = std::min(std::max((r.cr[x] + limit) / (2 * limit) * cells, T(0)), cells);
            const int ix = std::min(static_cast<int>(px), s.grid - 2), iy = std::min(static_cast<int>(py), s.grid - 2);
            r.cell[x] = iy * s.grid + ix;
            r.fx[x] = px - T(ix);
            r.fy[x] = py - T(iy);
        }
    }

    T toned(const Row<T>& r, int x) const {
        const T* sample = in.tone + r.interval[x];
        return sample[0] + r.fraction[x] * (sample[1] - sample[0]);
    }

    T mapped(const Row<T>& r, int x, int channel) const {  // U(q)
        const T *p = in.lut + channel * s.grid * s.grid + r.cell[x], *below = p + s.grid;
        const T top = p[0] + r.fx[x] * (p[1] - p[0]), bottom = below[0] + r.fx[x] * (below[1] - below[0]);
        return T(k::CHROMA_LIMIT) * (top + r.fy[x] * (bottom - top));
    }

    void scatter_fields(int y, const T* dt, const T* dv, const T* da, const Gradients<T>& g) {
        field.scatter(dt, y, g.t);
        field.scatter(dv, y, g.v);
        field.scatter(da, y, g.a);
    }

  private:
    const Shape& s;
    const Inputs<T>& in;
    Axis<T> rows, columns;
    Field<T> field;
};

template <class T>
void relu_rows(const Plane<T>& source, const T* kernel, T bias, Plane<T>& target, T* scratch) {
    convolve(source, kernel, bias, scratch, [&](int y, const T* sum) {
        T* out = target.row(y);
        for (int x = 0; x < target.width; ++x) out[x] = std::max(sum[x], T(0));
    });
}

// Eq. 3's argument of clip, Γ(Y¹) + F(Γ(Y¹)), one hidden channel at a time.
template <class T>
void refine(const Plane<T>& toned, const T* p, Plane<T>& raw2) {
    Plane<T> hidden1(toned.height, toned.width), hidden2(toned.height, toned.width);
    Buffer<T> scratch(toned.width);
    for (int y = 0; y < toned.height; ++y)
        for (int x = 0; x < toned.width; ++x) raw2.row(y)[x] = toned.row(y)[x] + p[kProjectBias];
    for (int c = 0; c < kRefinerWidth; ++c) {
        relu_rows(toned, p + kExpand + 9 * c, p[kExpandBias + c], hidden1, scratch.data());
        relu_rows(hidden1, p + kDepthwise + 9 * c, p[kDepthwiseBias + c], hidden2, scratch.data());
        convolve(hidden2, p + kProject + 9 * c, T(0), scratch.data(), [&](int y, const T* sum) {
            T* out = raw2.row(y);
            for (int x = 0; x < raw2.width; ++x) out[x] += sum[x];
        });
    }
}

// Adds the gradient that flows through F to `toned_gradient` and writes the gradient of F's parameters.
template <class T>
void refine_backward(const Plane<T>& toned, const T* p, const Plane<T>& gradient, Plane<T>& toned_gradient, T* dp) {
    const int height = toned.height, width = toned.width;
    Plane<T> hidden1(height, width), hidden2(height, width), d1(height, width), d2(height, width);
    Buffer<T> scratch(width);
    const auto masked = [&](const Plane<T>& source, const T* kernel, const Plane<T>& hidden, Plane<T>& target) {
        convolve(source, Turned<T>(kernel).w, T(0), scratch.data(), [&](int y, const T* sum) {
            const T* active = hidden.row(y);
            T* out = target.row(y);
            for (int x = 0; x < width; ++x) out[x] = active[x] > T(0) ? sum[x] : T(0);
        });
    };
    for (int c = 0; c < kRefinerWidth; ++c) {
        relu_rows(toned, p + kExpand + 9 * c, p[kExpandBias + c], hidden1, scratch.data());
        relu_rows(hidden1, p + kDepthwise + 9 * c, p[kDepthwiseBias + c], hidden2, scratch.data());
        masked(gradient, p + kProject + 9 * c, hidden2, d2);
        masked(d2, p + kDepthwise + 9 * c, hidden1, d1);
        convolve(d1, Turned<T>(p + kExpand + 9 * c).w, T(0), scratch.data(), [&](int y, const T* sum) {
            T* out = toned_gradient.row(y);
            for (int x = 0; x < width; ++x) out[x] += sum[x];
        });
        correlate(gradient, hidden2, dp + kProject + 9 * c, dp + kProjectBias);
        correlate(d2, hidden1, dp + kDepthwise + 9 * c, dp + kDepthwiseBias + c);
        correlate(d1, toned, dp + kExpand + 9 * c, dp + kExpandBias + c);
    }
}

}  // namespace PIC_UIE_ISA
