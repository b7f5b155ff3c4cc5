// `pic_uie._training`: the kernels on NumPy arrays, one image or channel per task, tasks spread over threads. Every array is
// checked against one stated batch before its memory is used.
#include <nanobind/nanobind.h>

#include <atomic>
#include <new>
#include <vector>

#include "base/pool.h"
#include "contract.h"
#include "python_arrays.h"

namespace nb = nanobind;

namespace {

namespace constants = pic_uie::constants;
using pic_uie::python::Access;
using pic_uie::python::View;
using pic_uie::python::without_lock;
using pic_uie::training::BodyShape;
using pic_uie::training::Gradients;
using pic_uie::training::Inputs;
using pic_uie::training::Kernels;
using pic_uie::training::Shape;
using Several = nb::typed<nb::tuple, nb::object, nb::ellipsis>;

void require(bool fine, const char* message) {
    if (!fine) throw nb::value_error(message);
}

int checked_side(int64_t side) {
    require(side >= 1 && side < (1 << 24), "an array has a side of 0, or one that is too long");
    return int(side);
}

// An array whose first dimension is the batch: operator[] is the part of one item.
template <class T>
struct Items {
    T* data;
    int64_t each;
    T* operator[](int64_t i) const { return data + each * i; }
};

// The arrays of one call, all for a batch of `size` items.
class Arrays {
  public:
    explicit Arrays(int64_t batch) : size(checked_side(batch)) {}
    const int64_t size;

    template <class T>
    Items<const T> in(const char* name, nb::handle array, std::initializer_list<int64_t> item) {
        return items<const T, T>(name, array, Access::read, item);
    }
    template <class T>
    Items<T> out(const char* name, nb::handle array, std::initializer_list<int64_t> item) {
        return items<T, T>(name, array, Access::write, item);
    }
    // An array that all items share.
    template <class T>
    const T* shared(const char* name, nb::handle array, int64_t count) {
        views_.emplace_back(name, array, Access::read);
        return views_.back().data<T>({count});
    }

  private:
    template <class Out, class T>
    Items<Out> items(const char* name, nb::handle array, Access access, std::initializer_list<int64_t> item) {
        views_.emplace_back(name, array, access);
        const View& view = views_.back();
        int64_t each = 1, sides[3] = {};
        int count = 0;
        for (int64_t side : item) each *= side, sides[count++] = side;
        if (count == 1) return {view.data<T>({size, sides[0]}), each};
        if (count == 2) return {view.data<T>({size, sides[0], sides[1]}), each};
        return {view.data<T>({size, sides[0], sides[1], sides[2]}), each};
    }

    std::vector<View> views_;
};

// Never destroyed: a thread of the pool may outlive everything else.
pic_uie::Pool& pool() {
    static pic_uie::Pool& threads = *new pic_uie::Pool(256);
    return threads;
}

// Runs task(0) .. task(count - 1); each writes only its own outputs, so the result does not depend on the order.
template <class Task>
void parallel(int64_t count, int threads, Task task) {
    require(threads >= 1 && threads <= 256, "threads must be 1 to 256");
    const bool failed = without_lock([&] {
        std::atomic<bool> out_of_memory{false};
        try {
            pool().each(count, threads, [&](int64_t i, int) {
                try {
                    task(i);
                } catch (const std::bad_alloc&) {
                    out_of_memory = true;
                }
            });
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
        return out_of_memory.load();
    });
    if (failed) throw std::bad_alloc();
}

template <class T>
const Kernels<T>& kernels() {
    static const Kernels<T>* const best = pic_uie::training::find_kernels<T>(nullptr);
    require(best != nullptr, "this machine lacks the instructions that the kernels need");
    return *best;
}

View peek(const char* name, nb::handle array) { return View(name, array, Access::read); }

// Calls work.operator()<T>() with the type of `first`: float, or double for checking gradients.
template <class Work>
void by_type(const View& first, Work work) {
    if (first.holds<float>()) return work.template operator()<float>();
    require(first.holds<double>(), "arrays must be float32 or float64");
    work.template operator()<double>();
}

BodyShape body_shape(const View& thumbnails, int64_t width) {
    const int64_t channels = thumbnails.side(1), size = thumbnails.side(2);
    require(size >= 8 && size % 8 == 0 && size <= 4096,
            "thumbnails must be (B, C, S, S), S a multiple of 8 up to 4096");
    require(width >= 1 && width <= 1024 && channels >= 1 && channels <= 1024, "width must be 1 to 1024");
    return {int(channels), int(width), int(size)};
}
int64_t packed_size(const BodyShape& s) { return int64_t(s.width) * (9 * s.channels + 18 * int64_t(s.width) + 9); }
int64_t saved_size(const BodyShape& s) { return int64_t(s.width) * (int64_t(s.size) * s.size / 64 * 21 + 3); }

void body(nb::object thumbnails, nb::object packed, nb::object saved, nb::object features, int threads) {
    const View first = peek("thumbnails", thumbnails);
    const BodyShape s = body_shape(first, peek("features", features).side(1));
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto x = arrays.in<T>("thumbnails", thumbnails, {s.channels, s.size, s.size});
        const T* weights = arrays.shared<T>("packed", packed, packed_size(s));
        const auto kept = arrays.out<T>("saved", saved, {saved_size(s)});
        const auto out = arrays.out<T>("features", features, {s.width, s.size / 8, s.size / 8});
        parallel(arrays.size, threads, [&](int64_t i) { kernels<T>().body(s, x[i], weights, kept[i], out[i]); });
    });
}

void body_backward(nb::object thumbnails, nb::object packed, nb::object saved, nb::object features_gradient,
                   nb::object packed_gradient, int threads) {
    const View first = peek("thumbnails", thumbnails);
    const BodyShape s = body_shape(first, peek("features_gradient", features_gradient).side(1));
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto x = arrays.in<T>("thumbnails", thumbnails, {s.channels, s.size, s.size});
        const T* weights = arrays.shared<T>("packed", packed, packed_size(s));
        const auto kept = arrays.in<T>("saved", saved, {saved_size(s)});
        const auto given = arrays.in<T>("features_gradient", features_gradient, {s.width, s.size / 8, s.size / 8});
        const auto out = arrays.out<T>("packed_gradient", packed_gradient, {packed_size(s)});
        parallel(arrays.size, threads,
                 [&](int64_t i) { kernels<T>().body_backward(s, x[i], weights, kept[i], given[i], out[i]); });
    });
}

// The inputs of `correct`, as a tuple of arrays: rgb, t, v, a, tone, lut, matrix, bias, beta_gamma, refiner.
template <class T>
struct Batch {
    Shape s;
    Items<const T> rgb, t, v, a, tone, lut, matrix, bias;
    const T *beta_gamma, *refiner;

    Batch(Arrays& arrays, const Several& given, const Shape& shape) : s(shape) {
        rgb = arrays.in<T>("rgb", given[0], {3, s.height, s.width});
        t = arrays.in<T>("t", given[1], {1, s.field_height, s.field_width});
        v = arrays.in<T>("v", given[2], {1, s.field_height, s.field_width});
        a = arrays.in<T>("a", given[3], {1, s.field_height, s.field_width});
        tone = arrays.in<T>("tone", given[4], {s.tones});
        lut = arrays.in<T>("lut", given[5], {2, s.grid, s.grid});
        matrix = arrays.in<T>("matrix", given[6], {3, 3});
        bias = arrays.in<T>("bias", given[7], {3});
        beta_gamma = arrays.shared<T>("beta_gamma", given[8], 2);
        refiner = arrays.shared<T>("refiner", given[9], pic_uie::training::kRefinerSize);
    }
    Inputs<T> operator[](int64_t i) const {
        return {rgb[i], t[i], v[i], a[i], tone[i], lut[i], matrix[i], bias[i], beta_gamma, refiner};
    }
};

Shape shape_of(const View& rgb, const Several& given) {
    require(given.size() == 10, "expected rgb, t, v, a, tone, lut, matrix, bias, beta_gamma, refiner");
    const View t = peek("t", given[1]), tone = peek("tone", given[4]), lut = peek("lut", given[5]);
    require(tone.side(1) >= 2 && lut.side(2) >= 2,
            "tone must have shape (B, n) and lut (B, 2, g, g), n and g at least 2");
    return {checked_side(rgb.side(2)), checked_side(rgb.side(3)),  checked_side(t.side(2)),
            checked_side(t.side(3)),   checked_side(tone.side(1)), checked_side(lut.side(2))};
}

void correct(Several inputs, nb::object z1, nb::object refined, nb::object mean, nb::object covariance, int threads) {
    require(inputs.size() == 10, "expected ten inputs");
    const View first = peek("rgb", inputs[0]);
    const Shape s = shape_of(first, inputs);
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const Batch<T> batch(arrays, inputs, s);
        const auto z = arrays.out<T>("z1", z1, {3, s.height, s.width});
        const auto r = arrays.out<T>("refined", refined, {s.height, s.width});
        const auto m = arrays.out<double>("mean", mean, {3});
        const auto c = arrays.out<double>("covariance", covariance, {3, 3});
        parallel(arrays.size, threads, [&](int64_t i) { kernels<T>().correct(s, batch[i], z[i], r[i], m[i], c[i]); });
    });
}

// `gradients` are of z1, mean and covariance; `results` get those of t, v, a, tone, lut, matrix, bias, beta_gamma, refiner.
void correct_backward(Several inputs, nb::object z1, nb::object refined, nb::object mean, Several gradients,
                      Several results, int threads) {
    require(inputs.size() == 10 && gradients.size() == 3 && results.size() == 9,
            "expected 10 inputs, 3 gradients, 9 results");
    const View first = peek("rgb", inputs[0]);
    const Shape s = shape_of(first, inputs);
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const Batch<T> batch(arrays, inputs, s);
        const auto z = arrays.in<T>("z1", z1, {3, s.height, s.width});
        const auto r = arrays.in<T>("refined", refined, {s.height, s.width});
        const auto m = arrays.in<double>("mean", mean, {3});
        const auto dz = arrays.in<T>("the gradient of z1", gradients[0], {3, s.height, s.width});
        const auto dm = arrays.in<double>("the gradient of mean", gradients[1], {3});
        const auto dc = arrays.in<double>("the gradient of covariance", gradients[2], {3, 3});
        const auto t = arrays.out<T>("the gradient of t", results[0], {1, s.field_height, s.field_width});
        const auto v = arrays.out<T>("the gradient of v", results[1], {1, s.field_height, s.field_width});
        const auto a = arrays.out<T>("the gradient of a", results[2], {1, s.field_height, s.field_width});
        const auto tone = arrays.out<T>("the gradient of tone", results[3], {s.tones});
        const auto lut = arrays.out<T>("the gradient of lut", results[4], {2, s.grid, s.grid});
        const auto matrix = arrays.out<T>("the gradient of matrix", results[5], {3, 3});
        const auto bias = arrays.out<T>("the gradient of bias", results[6], {3});
        const auto beta_gamma = arrays.out<T>("the gradient of beta_gamma", results[7], {2});
        const auto refiner = arrays.out<T>("the gradient of refiner", results[8], {pic_uie::training::kRefinerSize});
        parallel(arrays.size, threads, [&](int64_t i) {
            const Gradients<T> to{t[i], v[i], a[i], tone[i], lut[i], matrix[i], bias[i], beta_gamma[i], refiner[i]};
            kernels<T>().correct_backward(s, batch[i], z[i], r[i], m[i], dz[i], dm[i], dc[i], to);
        });
    });
}

void finish(nb::object z1, nb::object slope, nb::object offset, nb::object rgb, int threads) {
    const View first = peek("z1", z1);
    const int64_t h = checked_side(first.side(2)), w = checked_side(first.side(3));
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto z = arrays.in<T>("z1", z1, {3, h, w});
        const auto p = arrays.in<T>("slope", slope, {3, 3});
        const auto o = arrays.in<T>("offset", offset, {3});
        const auto out = arrays.out<T>("rgb", rgb, {3, h, w});
        parallel(arrays.size, threads, [&](int64_t i) { kernels<T>().finish(h * w, z[i], p[i], o[i], out[i]); });
    });
}

void finish_backward(nb::object z1, nb::object slope, nb::object offset, nb::object rgb_gradient,
                     nb::object z1_gradient, nb::object slope_gradient, nb::object offset_gradient, int threads) {
    const View first = peek("z1", z1);
    const int64_t h = checked_side(first.side(2)), w = checked_side(first.side(3));
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto z = arrays.in<T>("z1", z1, {3, h, w});
        const auto p = arrays.in<T>("slope", slope, {3, 3});
        const auto o = arrays.in<T>("offset", offset, {3});
        const auto given = arrays.in<T>("rgb_gradient", rgb_gradient, {3, h, w});
        const auto dz = arrays.out<T>("z1_gradient", z1_gradient, {3, h, w});
        const auto dp = arrays.out<double>("slope_gradient", slope_gradient, {3, 3});
        const auto d_o = arrays.out<double>("offset_gradient", offset_gradient, {3});
        parallel(arrays.size, threads, [&](int64_t i) {
            kernels<T>().finish_backward(h * w, z[i], p[i], o[i], given[i], dz[i], dp[i], d_o[i]);
        });
    });
}

void check_structure(int64_t height, int64_t width, int scales) {
    require(scales >= 1 && scales <= pic_uie::training::kScales, "scales must be 1 to 5");
    for (int scale = 0; scale < scales; ++scale, height = (height + 1) / 2, width = (width + 1) / 2)
        require(height >= 11 && width >= 11 && height < (1 << 24) && width < (1 << 24),
                "image too small for the window");
}

void structure(nb::object x, nb::object y, int scales, nb::object means, int threads) {
    const View first = peek("x", x);
    const int64_t h = first.side(1), w = first.side(2);
    check_structure(h, w, scales);
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto one = arrays.in<T>("x", x, {h, w}), other = arrays.in<T>("y", y, {h, w});
        const auto out = arrays.out<double>("means", means, {scales, 2});
        parallel(arrays.size, threads,
                 [&](int64_t i) { kernels<T>().structure(int(h), int(w), scales, one[i], other[i], out[i]); });
    });
}

void structure_backward(nb::object x, nb::object y, int scales, nb::object coefficients, nb::object x_gradient,
                        int threads) {
    const View first = peek("x", x);
    const int64_t h = first.side(1), w = first.side(2);
    check_structure(h, w, scales);
    by_type(first, [&]<class T>() {
        Arrays arrays(first.side(0));
        const auto one = arrays.in<T>("x", x, {h, w}), other = arrays.in<T>("y", y, {h, w});
        const auto factors = arrays.in<double>("coefficients", coefficients, {scales, 2});
        const auto out = arrays.out<T>("x_gradient", x_gradient, {h, w});
        parallel(arrays.size, threads, [&](int64_t i) {
            kernels<T>().structure_backward(int(h), int(w), scales, one[i], other[i], factors[i], out[i]);
        });
    });
}

}  // namespace

NB_MODULE(_training, m) {
    m.def("body", &body, nb::arg("thumbnails"), nb::arg("packed"), nb::arg("saved"), nb::arg("features"),
          nb::arg("threads"));
    m.def("body_backward", &body_backward, nb::arg("thumbnails"), nb::arg("packed"), nb::arg("saved"),
          nb::arg("features_gradient"), nb::arg("packed_gradient"), nb::arg("threads"));
    m.def("correct", &correct, nb::arg("inputs"), nb::arg("z1"), nb::arg("refined"), nb::arg("mean"),
          nb::arg("covariance"), nb::arg("threads"));
    m.def("correct_backward", &correct_backward, nb::arg("inputs"), nb::arg("z1"), nb::arg("refined"), nb::arg("mean"),
          nb::arg("gradients"), nb::arg("results"), nb::arg("threads"));
    m.def("finish", &finish, nb::arg("z1"), nb::arg("slope"), nb::arg("offset"), nb::arg("rgb"), nb::arg("threads"));
    m.def("finish_backward", &finish_backward, nb::arg("z1"), nb::arg("slope"), nb::arg("offset"),
          nb::arg("rgb_gradient"), nb::arg("z1_gradient"), nb::arg("slope_gradient"), nb::arg("offset_gradient"),
          nb::arg("threads"));
    m.def("structure", &structure, nb::arg("x"), nb::arg("y"), nb::arg("scales"), nb::arg("means"), nb::arg("threads"));
    m.def("structure_backward", &structure_backward, nb::arg("x"), nb::arg("y"), nb::arg("scales"),
          nb::arg("coefficients"), nb::arg("x_gradient"), nb::arg("threads"));
}
