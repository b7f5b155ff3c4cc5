// The thin binding `pic_uie._native`: pictures with any strides, θ as contiguous arrays, codes for what went wrong.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pic_uie.h"
#include "python_arrays.h"
#include "temporal.h"

namespace nb = nanobind;

namespace {

using pic_uie::Corrections;
using pic_uie::CorrectionsOut;
using pic_uie::Depth;
using pic_uie::Engine;
using pic_uie::Error;
using pic_uie::Image;
using pic_uie::Layer;
using pic_uie::Parameters;
using pic_uie::Statistics;
using pic_uie::Yuv;
using pic_uie::python::Access;
using pic_uie::python::View;
using pic_uie::python::without_lock;
namespace constants = pic_uie::constants;

int code(Error error) { return int(error.code); }

Depth depth_of(const View& view) {
    if (view.holds<uint8_t>()) return Depth::u8;
    if (view.holds<uint16_t>()) return Depth::u16;
    if (view.holds<float>()) return Depth::f32;
    throw nb::value_error("samples must be uint8, uint16 or float32");
}

Image image_of(const View& view) {
    const Py_buffer& b = *view;
    if (b.ndim != 2 && b.ndim != 3) throw nb::value_error("a picture has 2 or 3 dimensions");
    const bool flat = b.ndim == 2;
    return {b.buf,
            depth_of(view),
            b.shape[0],
            b.shape[1],
            flat ? 1 : int(b.shape[2]),
            b.strides[0],
            b.strides[1],
            flat ? b.itemsize : b.strides[2]};
}

// The planes of a `pic_uie.yuv.Yuv`.
class Frame {
  public:
    Frame(nb::handle frame, Access access)
        : y_("y", frame.attr("y"), access), cb_("cb", frame.attr("cb"), access), cr_("cr", frame.attr("cr"), access) {
        bits_ = nb::cast<int>(frame.attr("bits"));
        const nb::object weights = frame.attr("luma_weights");
        kr_ = nb::cast<double>(weights[0]), kb_ = nb::cast<double>(weights[1]);
        full_range_ = nb::cast<bool>(frame.attr("full_range"));
    }

    Yuv yuv() const {
        const Py_buffer &y = *y_, &cb = *cb_, &cr = *cr_;
        const bool typed = bits_ == 8 ? y_.holds<uint8_t>() && cb_.holds<uint8_t>() && cr_.holds<uint8_t>()
                                      : y_.holds<uint16_t>() && cb_.holds<uint16_t>() && cr_.holds<uint16_t>();
        if (!typed || y.ndim != 2 || cb.ndim != 2 || cr.ndim != 2)
            throw nb::value_error("y, cb and cr must be planes of uint8 for 8 bits, of uint16 for more");
        const int64_t height = y.shape[0], width = y.shape[1], rows = (height + 1) / 2, columns = (width + 1) / 2;
        if (cb.shape[0] != rows || cb.shape[1] != columns || cr.shape[0] != rows || cr.shape[1] != columns)
            throw nb::value_error("cb and cr must have half the rows and columns of y, rounded up");
        if (y.strides[1] != y.itemsize || cb.strides[0] != cr.strides[0] || cb.strides[1] != cr.strides[1])
            throw nb::value_error("rows of y must be contiguous, cb and cr must have the same strides");
        return {y.buf,         cb.buf,        cr.buf, height, width, y.strides[0],
                cb.strides[0], cb.strides[1], bits_,  kr_,    kb_,   full_range_};
    }

  private:
    View y_, cb_, cr_;
    int bits_;
    double kr_, kb_;
    bool full_range_;
};

// Calls work(picture) with an Image or a Yuv, whichever `object` is.
template <class Work>
auto with_picture(nb::handle object, Work work) {
    if (nb::hasattr(object, "luma_weights")) {
        const Frame frame(object, Access::read);
        return work(frame.yuv());
    }
    const View view("the picture", object, Access::read);
    return work(image_of(view));
}

// The same with the memory for the result.
template <class Work>
auto with_pictures(nb::handle object, nb::handle out, Work work) {
    if (nb::hasattr(object, "luma_weights")) {
        const Frame frame(object, Access::read), target(out, Access::write);
        return work(frame.yuv(), target.yuv());
    }
    const View view("the picture", object, Access::read), target("out", out, Access::write);
    return work(image_of(view), image_of(target));
}

// θ of a `pic_uie.Corrections`.
class Theta {
  public:
    explicit Theta(nb::handle theta) {
        auto view = [&](const char* name) -> const View& {
            views_.emplace_back(name, theta.attr(name), Access::read);
            return views_.back();
        };
        views_.reserve(9);
        const View& t = view("t");
        const int64_t h = t.side(0), w = t.side(1);
        values_.t = t.data<float>({h, w});
        values_.v = view("v").data<float>({h, w});
        values_.a = view("a").data<float>({h, w});
        values_.field_height = int(h), values_.field_width = int(w);
        const View& tone = view("tone");
        values_.tone = tone.data<float>({tone.side(0)});
        values_.tone_samples = int(tone.side(0));
        const View& lut = view("lut");
        const int64_t grid = lut.side(1);
        values_.lut = lut.data<float>({2, grid, grid});
        values_.grid = int(grid);
        std::copy_n(view("matrix").data<float>({3, 3}), 9, values_.matrix);
        std::copy_n(view("bias").data<float>({3}), 3, values_.bias);
        std::copy_n(view("mean").data<float>({3}), 3, values_.mean);
        std::copy_n(view("recolor").data<float>({3, 3}), 9, values_.recolor);
        values_.blend = nb::cast<float>(theta.attr("blend"));
        values_.refinement = nb::cast<float>(theta.attr("refinement"));
    }
    const Corrections& operator*() const { return values_; }

  private:
    std::vector<View> views_;
    Corrections values_ = {};
};

// Memory for θ: t, v, a, tone, lut, affine (12), covariance (13).
class ThetaOut {
  public:
    ThetaOut(const std::vector<nb::object>& arrays, int64_t height, int64_t width, int64_t tones, int64_t grid) {
        if (arrays.size() != 7) throw nb::value_error("expected the seven arrays of the corrections");
        const char* const names[7] = {"t", "v", "a", "tone", "lut", "affine", "covariance"};
        views_.reserve(7);
        for (size_t i = 0; i < 7; ++i) views_.emplace_back(names[i], arrays[i], Access::write);
        auto field = [&](size_t i) { return views_[i].data<float>({height, width}); };
        values_ = {field(0),
                   field(1),
                   field(2),
                   views_[3].data<float>({tones}),
                   views_[4].data<float>({2, grid, grid}),
                   views_[5].data<float>({12}),
                   views_[6].data<float>({13})};
    }
    const CorrectionsOut& operator*() const { return values_; }

  private:
    std::vector<View> views_;
    CorrectionsOut values_ = {};
};

// (m, S) of a `pic_uie.Statistics`, two arrays of double.
Statistics statistics_of(nb::handle object) {
    const View mean("mean", object.attr("mean"), Access::read),
        covariance("covariance", object.attr("covariance"), Access::read);
    Statistics statistics;
    std::copy_n(mean.data<double>({3}), 3, statistics.mean);
    std::copy_n(covariance.data<double>({3, 3}), 9, statistics.covariance);
    return statistics;
}

std::vector<double> values_of(const Statistics& statistics) {
    std::vector<double> values(statistics.mean, statistics.mean + 3);
    values.insert(values.end(), statistics.covariance, statistics.covariance + 9);
    return values;
}

using Arrays = nb::typed<nb::dict, std::string, nb::object>;

// Parameters by their name in the weights file.
class Named {
  public:
    explicit Named(Arrays arrays) : arrays_(std::move(arrays)) { views_.reserve(arrays_.size()); }

    const float* get(const std::string& name, int64_t count) {
        if (!arrays_.contains(name.c_str())) throw nb::key_error(name.c_str());
        const nb::object flat = arrays_[name.c_str()].attr("reshape")(-1);
        views_.emplace_back("a parameter", flat, Access::read);
        return views_.back().data<float>({count});
    }
    Layer layer(const std::string& name, int64_t outputs, int64_t inputs) {
        return {get(name + ".weight", outputs * inputs), get(name + ".bias", outputs)};
    }

  private:
    Arrays arrays_;
    std::vector<View> views_;
};

struct PyEngine {
    std::unique_ptr<Engine> engine;
    int side, grid;

    PyEngine(Arrays arrays, int width, int thumbnail, int lut_grid, int threads, std::optional<std::string> isa)
        : side(thumbnail / constants::DOWNSAMPLING), grid(lut_grid) {
        Named named(std::move(arrays));
        Parameters p = {};
        p.width = width, p.thumbnail = thumbnail, p.grid = grid;
        for (int i = 0; i < 3; ++i) {
            const std::string body = "predictor.body." + std::to_string(i);
            p.conv[i] = named.layer(body + ".conv", width, 9 * (i ? width : 3));
            p.norm[i] = named.layer(body + ".norm", width, 1);
        }
        p.statistics = named.layer("predictor.statistics", width, 6);
        const std::string head = "predictor.heads.";
        p.t = named.layer(head + "t", 1, width);
        p.v = named.layer(head + "v", 1, width);
        p.a = named.layer(head + "a", 1, width);
        p.tone = named.layer(head + "tone", constants::TONE_INCREMENTS, width);
        p.chroma = named.layer(head + "chroma", 2 * int64_t(grid) * grid, width);
        p.affine = named.layer(head + "affine", 12, width);
        p.covariance = named.layer(head + "covariance", 10, width);
        p.beta = *named.get("executor.gate.beta", 1);
        p.gamma = *named.get("executor.gate.gamma", 1);
        p.expand = named.layer("executor.refiner.expand", constants::REFINER_WIDTH, 9);
        p.depthwise = named.layer("executor.refiner.depthwise", constants::REFINER_WIDTH, 9);
        p.project = named.layer("executor.refiner.project", 1, 9 * constants::REFINER_WIDTH);
        if (const Error error = Engine::create(p, threads, isa ? isa->c_str() : nullptr, engine))
            throw nb::value_error(pic_uie::message(error));
    }

    int predict(nb::object picture, std::vector<nb::object> outputs, int threads) {
        const ThetaOut out(outputs, side, side, constants::TONE_INCREMENTS + 1, grid);
        return with_picture(picture, [&](const auto& in) {
            return without_lock([&] { return code(engine->predict(in, *out, threads)); });
        });
    }

    std::tuple<int, std::vector<double>> measure(nb::object picture, nb::object theta, int threads) {
        const Theta corrections(theta);
        Statistics statistics = {};
        const int result = with_picture(picture, [&](const auto& in) {
            return without_lock([&] { return code(engine->measure(in, *corrections, statistics, threads)); });
        });
        return {result, values_of(statistics)};
    }

    std::tuple<int, std::vector<double>> execute(nb::object picture, nb::object theta,
                                                 std::optional<nb::object> statistics, nb::object out, float strength,
                                                 int threads) {
        const Theta corrections(theta);
        const Statistics given = statistics ? statistics_of(*statistics) : Statistics();
        Statistics own = {};
        const int result = with_pictures(picture, out, [&](const auto& in, const auto& target) {
            return without_lock([&] {
                return code(
                    engine->execute(in, *corrections, statistics ? &given : nullptr, target, strength, threads, &own));
            });
        });
        return {result, values_of(own)};
    }

    int enhance(nb::object picture, nb::object out, float strength, int threads) {
        return with_pictures(picture, out, [&](const auto& in, const auto& target) {
            return without_lock([&] { return code(engine->enhance(in, target, strength, threads)); });
        });
    }
};

std::tuple<int, float> scale(nb::object theta, float haze, float contrast, float colour, float balance,
                             std::vector<nb::object> outputs) {
    const Theta corrections(theta);
    const Corrections& c = *corrections;
    const ThetaOut out(outputs, c.field_height, c.field_width, c.tone_samples, c.grid);
    float refinement = 1.0f;
    const int result = code(pic_uie::scale(c, {haze, contrast, colour, balance}, *out, refinement));
    return {result, refinement};
}

nb::typed<nb::dict, std::string, double> constants_by_name() {
    nb::typed<nb::dict, std::string, double> values;
#define PIC_UIE_CONSTANT(name) values[#name] = constants::name
    PIC_UIE_CONSTANT(LUMA_R);
    PIC_UIE_CONSTANT(LUMA_G);
    PIC_UIE_CONSTANT(LUMA_B);
    PIC_UIE_CONSTANT(CB_SCALE);
    PIC_UIE_CONSTANT(CR_SCALE);
    PIC_UIE_CONSTANT(R_FROM_CR);
    PIC_UIE_CONSTANT(B_FROM_CB);
    PIC_UIE_CONSTANT(CHROMA_LIMIT);
    PIC_UIE_CONSTANT(DOWNSAMPLING);
    PIC_UIE_CONSTANT(TONE_INCREMENTS);
    PIC_UIE_CONSTANT(REFINER_WIDTH);
    PIC_UIE_CONSTANT(HALO);
    PIC_UIE_CONSTANT(T_MIN);
    PIC_UIE_CONSTANT(TONE_FLOOR);
    PIC_UIE_CONSTANT(NORM_EPS);
    PIC_UIE_CONSTANT(STD_EPS);
    PIC_UIE_CONSTANT(COVARIANCE_EPS);
    PIC_UIE_CONSTANT(EIGENVALUE_FLOOR);
#undef PIC_UIE_CONSTANT
    return values;
}

// Code -> (name, message), in the order of the codes.
std::vector<std::tuple<std::string, std::string>> errors() {
    std::vector<std::tuple<std::string, std::string>> all = {{"none", ""}};
#define PIC_UIE_PAIR(name, message) all.emplace_back(#name, message);
    PIC_UIE_ERRORS(PIC_UIE_PAIR)
#undef PIC_UIE_PAIR
    return all;
}

std::vector<std::string> instruction_set_names() {
    std::vector<std::string> names;
    for (const char* const* name = pic_uie::instruction_sets(); *name; ++name) names.emplace_back(*name);
    return names;
}

#include "python_temporal.h"

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // the shared default Enhancer lives until the process ends
    nb::class_<PyEngine>(module, "Engine")
        .def(nb::init<Arrays, int, int, int, int, std::optional<std::string>>(), nb::arg("parameters"),
             nb::arg("width"), nb::arg("thumbnail"), nb::arg("lut_grid"), nb::arg("threads"),
             nb::arg("instruction_set") = nb::none())
        .def("predict", &PyEngine::predict, nb::arg("picture"), nb::arg("outputs"), nb::arg("threads"))
        .def("measure", &PyEngine::measure, nb::arg("picture"), nb::arg("theta"), nb::arg("threads"))
        .def("execute", &PyEngine::execute, nb::arg("picture"), nb::arg("theta"), nb::arg("statistics").none(),
             nb::arg("out"), nb::arg("strength"), nb::arg("threads"))
        .def("enhance", &PyEngine::enhance, nb::arg("picture"), nb::arg("out"), nb::arg("strength"), nb::arg("threads"))
        .def_prop_ro("instruction_set", [](const PyEngine& self) { return self.engine->instruction_set(); })
        .def_prop_ro("threads", [](const PyEngine& self) { return self.engine->threads(); });
    module.def("scale", &scale, nb::arg("theta"), nb::arg("haze"), nb::arg("contrast"), nb::arg("colour"),
               nb::arg("balance"), nb::arg("outputs"));
    add_temporal(module);
    module.def("constants", &constants_by_name);
    module.def("errors", &errors);
    module.def("instruction_sets", &instruction_set_names);
    module.def(
        "peak_multiply_adds",
        [](const std::string& instruction_set, double seconds) {
            return without_lock([&] { return pic_uie::peak_multiply_adds(instruction_set.c_str(), seconds); });
        },
        nb::arg("instruction_set"), nb::arg("seconds"));
}
