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

// One field of θ (t, v or a), sampled row by row, and the way back for its gradient.
template <class T>
class Field {
  public:
    Field(const T* field, const Axis<T>& down, const Axis<T>& across, int width)
        : rows(down),
          columns(across),
          cells(width),
          line(width),
          above(field, across, width),
          below(field, across, width) {}

    void sample(int y, T* out) {
        above.spread(rows.left[y]);
        below.spread(rows.right[y]);
        const T w = rows.weight[y], *weight = columns.weight.data();
        const T *top_left = above.left.data(), *top_right = above.right.data();
        const T *bottom_left = below.left.data(), *bottom_right = below.right.data();
        const int positions = static_cast<int>(columns.left.size());
        PIC_UIE_INDEPENDENT
        for (int x = 0; x < positions; ++x) {
            const T left = top_left[x] + w * (bottom_left[x] - top_left[x]);
            const T right = top_right[x] + w * (bottom_right[x] - top_right[x]);
            out[x] = left + weight[x] * (right - left);
        }
    }

    void scatter(const T* gradient, int y, T* field_gradient) {
        line.clear();
        for (std::size_t x = 0; x < columns.left.size(); ++x) {
            line[columns.left[x]] += (1 - columns.weight[x]) * gradient[x];
            line[columns.right[x]] += columns.weight[x] * gradient[x];
        }
        T *top = field_gradient + rows.left[y] * cells, *bottom = field_gradient + rows.right[y] * cells;
        for (int i = 0; i < cells; ++i) top[i] += (1 - rows.weight[y]) * line[i];
        for (int i = 0; i < cells; ++i) bottom[i] += rows.weight[y] * line[i];
    }

  private:
    // A row of cells as every position across meets it; the same row serves several rows of the picture.
    struct Spread {
        Spread(const T* values, const Axis<T>& across, int width)
            : field(values), axis(across), pitch(width), left(across.left.size()), right(across.left.size()) {}

        void spread(int wanted) {
            if (wanted == row) return;
            row = wanted;
            const T* cell = field + wanted * pitch;
            for (std::size_t x = 0; x < left.size(); ++x) {
                left[x] = cell[axis.left[x]];
                right[x] = cell[axis.right[x]];
            }
        }

        const T* const field;
        const Axis<T>& axis;
        const int pitch;
        Buffer<T> left, right;
        int row = -1;
    };

    const Axis<T>&rows, &columns;
    const int cells;
    Buffer<T> line;
    Spread above, below;
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
          t(inputs.t, rows, columns, shape.field_width),
          v(inputs.v, rows, columns, shape.field_width),
          a(inputs.a, rows, columns, shape.field_width) {}

    void read(int y, Row<T>& r) {
        const std::size_t pixels = static_cast<std::size_t>(s.height) * s.width;
        const T *red = in.rgb + static_cast<std::size_t>(y) * s.width, *green = red + pixels, *blue = green + pixels;
        t.sample(y, r.t.data());
        v.sample(y, r.v.data());
        a.sample(y, r.a.data());
        const int width = s.width, last_interval = s.tones - 2, grid = s.grid;
        const T intervals = T(s.tones - 1), cells = T(grid - 1), limit = T(k::CHROMA_LIMIT);
        const T *transmission = r.t.data(), *veil = r.v.data(), *amplification = r.a.data();
        T *luminance = r.y.data(), *cb = r.cb.data(), *cr = r.cr.data();
        T *veiled = r.veiled.data(), *gain = r.gain.data(), *raw1 = r.raw1.data();
        PIC_UIE_INDEPENDENT
        for (int x = 0; x < width; ++x) {
            const T luma = T(k::LUMA_R) * red[x] + T(k::LUMA_G) * green[x] + T(k::LUMA_B) * blue[x];
            luminance[x] = luma;
            cb[x] = T(k::CB_SCALE) * (blue[x] - luma);
            cr[x] = T(k::CR_SCALE) * (red[x] - luma);
            const T murk = 1 - transmission[x];
            veiled[x] = luma - murk * veil[x];
            gain[x] = 1 + amplification[x] * murk;
            raw1[x] = veiled[x] * gain[x];  // Eq. 2
        }
        int *interval = r.interval.data(), *cell = r.cell.data();
        T *fraction = r.fraction.data(), *fx = r.fx.data(), *fy = r.fy.data();
        PIC_UIE_INDEPENDENT
        for (int x = 0; x < width; ++x) {
            const T position = clip01(raw1[x]) * intervals;
            interval[x] = std::min(static_cast<int>(position), last_interval);
            fraction[x] = position - T(interval[x]);
            const T px = std::min(std::max((cb[x] + limit) / (2 * limit) * cells, T(0)), cells);
            const T py = std::min(std::max((cr[x] + limit) / (2 * limit) * cells, T(0)), cells);
            const int ix = std::min(static_cast<int>(px), grid - 2), iy = std::min(static_cast<int>(py), grid - 2);
            cell[x] = iy * grid + ix;
            fx[x] = px - T(ix);
            fy[x] = py - T(iy);
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
        t.scatter(dt, y, g.t);
        v.scatter(dv, y, g.v);
        a.scatter(da, y, g.a);
    }

  private:
    const Shape& s;
    const Inputs<T>& in;
    Axis<T> rows, columns;
    Field<T> t, v, a;
};

// What takes the results of `convolve`: the row after ReLU, or added to what is there.
template <class T>
auto rectified(Plane<T>& target) {
    return [&target](int y) { return [out = target.row(y)](int x, T sum) { out[x] = std::max(sum, T(0)); }; };
}

template <class T>
auto added(Plane<T>& target) {
    return [&target](int y) { return [out = target.row(y)](int x, T sum) { out[x] += sum; }; };
}

// The gradient before a ReLU whose result was `hidden`.
template <class T>
auto masked(const Plane<T>& hidden, Plane<T>& target) {
    return [&hidden, &target](int y) {
        return [active = hidden.row(y), out = target.row(y)](int x, T sum) { out[x] = active[x] > T(0) ? sum : T(0); };
    };
}

// Eq. 3's argument of clip, Γ(Y¹) + F(Γ(Y¹)), one hidden channel at a time.
template <class T>
void refine(const Plane<T>& toned, const T* p, Plane<T>& raw2) {
    Plane<T> hidden1(toned.height, toned.width), hidden2(toned.height, toned.width);
    for (int y = 0; y < toned.height; ++y)
        for (int x = 0; x < toned.width; ++x) raw2.row(y)[x] = toned.row(y)[x] + p[kProjectBias];
    for (int c = 0; c < kRefinerWidth; ++c) {
        convolve(toned, p + kExpand + 9 * c, p[kExpandBias + c], rectified(hidden1));
        convolve(hidden1, p + kDepthwise + 9 * c, p[kDepthwiseBias + c], rectified(hidden2));
        convolve(hidden2, p + kProject + 9 * c, T(0), added(raw2));
    }
}

// Adds the gradient that flows through F to `toned_gradient` and writes the gradient of F's parameters.
template <class T>
void refine_backward(const Plane<T>& toned, const T* p, const Plane<T>& gradient, Plane<T>& toned_gradient, T* dp) {
    const int height = toned.height, width = toned.width;
    Plane<T> hidden1(height, width), hidden2(height, width), d1(height, width), d2(height, width);
    for (int c = 0; c < kRefinerWidth; ++c) {
        const T *expand = p + kExpand + 9 * c, *depthwise = p + kDepthwise + 9 * c, *project = p + kProject + 9 * c;
        convolve(toned, expand, p[kExpandBias + c], rectified(hidden1));
        convolve(hidden1, depthwise, p[kDepthwiseBias + c], rectified(hidden2));
        convolve(gradient, Turned<T>(project).w, T(0), masked(hidden2, d2));
        convolve(d2, Turned<T>(depthwise).w, T(0), masked(hidden1, d1));
        convolve(d1, Turned<T>(expand).w, T(0), added(toned_gradient));
        correlate(gradient, hidden2, dp + kProject + 9 * c, dp + kProjectBias);
        correlate(d2, hidden1, dp + kDepthwise + 9 * c, dp + kDepthwiseBias + c);
        correlate(d1, toned, dp + kExpand + 9 * c, dp + kExpandBias + c);
    }
}

}  // namespace PIC_UIE_ISA
