// The thin binding: arrays by the buffer protocol (any strides), the GIL released while the core works.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "pic_uie.h"

namespace nb = nanobind;
using namespace pic_uie;

namespace {

// A view of an array's memory for as long as it lives.
class View {
  public:
    View(nb::handle array, bool writable) {
        if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) != 0)
            throw nb::python_error();
    }
    ~View() { PyBuffer_Release(&buffer_); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;

    const Py_buffer& operator*() const { return buffer_; }

    Image image() const {
        if (buffer_.ndim != 2 && buffer_.ndim != 3) throw nb::value_error("a picture has 2 or 3 dimensions");
        const bool flat = buffer_.ndim == 2;
        return {buffer_.buf,
                depth(),
                buffer_.shape[0],
                buffer_.shape[1],
                flat ? 1 : int(buffer_.shape[2]),
                buffer_.strides[0],
                buffer_.strides[1],
                flat ? buffer_.itemsize : buffer_.strides[2]};
    }

    // Contiguous floats, `count` of them.
    float* floats(int64_t count) const {
        if (!is("f") || !PyBuffer_IsContiguous(&buffer_, 'C') || buffer_.len != count * 4)
            throw nb::value_error("expected a contiguous float32 array of another size");
        return static_cast<float*>(buffer_.buf);
    }

  private:
    bool is(const char* format) const {
        const char* own = buffer_.format ? buffer_.format : "B";
        if (*own == '@' || *own == '=') ++own;
        return std::string(own) == format;
    }
    Depth depth() const {
        if (is("B")) return Depth::u8;
        if (is("H")) return Depth::u16;
        if (is("f")) return Depth::f32;
        throw nb::value_error("samples must be uint8, uint16 or float32");
    }
    Py_buffer buffer_;
};

void raise(Error error) {
    if (error) throw nb::value_error(error);
}

// Parameters by their name in the weights file.
class Named {
  public:
    explicit Named(nb::dict arrays) : arrays_(std::move(arrays)) {}

    const float* get(const std::string& name, int64_t count) {
        if (!arrays_.contains(name.c_str())) throw nb::key_error(name.c_str());
        views_.push_back(std::make_unique<View>(arrays_[name.c_str()], false));
        return views_.back()->floats(count);
    }
    Layer layer(const std::string& name, int64_t outputs, int64_t inputs) {
        return {get(name + ".weight", outputs * inputs), get(name + ".bias", outputs)};
    }

  private:
    nb::dict arrays_;
    std::vector<std::unique_ptr<View>> views_;
};

struct PyEngine {
    std::unique_ptr<Engine> engine;
    int side, grid;

    PyEngine(nb::dict arrays, int width, int thumbnail, int lut_grid, int threads, nb::object isa)
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
        const std::string wanted = isa.is_none() ? "" : nb::cast<std::string>(isa);
        raise(Engine::create(p, threads, isa.is_none() ? nullptr : wanted.c_str(), engine));
    }

    void predict(nb::handle image, nb::list outputs, int threads) {
        if (outputs.size() != 7) throw nb::value_error("expected the seven arrays of the corrections");
        const View view(image, false);
        const Image in = view.image();
        const int64_t field = int64_t(side) * side;
        const int64_t sizes[7] = {field, field, field, constants::TONE_INCREMENTS + 1, 2 * int64_t(grid) * grid, 12, 13};
        std::vector<std::unique_ptr<View>> views;
        float* memory[7];
        for (int i = 0; i < 7; ++i) {
            views.push_back(std::make_unique<View>(outputs[i], true));
            memory[i] = views.back()->floats(sizes[i]);
        }
        const CorrectionsOut out = {memory[0], memory[1], memory[2], memory[3], memory[4], memory[5], memory[6]};
        Error error;
        {
            nb::gil_scoped_release release;
            error = engine->predict(in, out, threads);
        }
        raise(error);
    }

    void execute(nb::handle image, nb::handle theta, nb::handle out, float strength, int threads) {
        const View in(image, false), to(out, true);
        const View t(theta.attr("t"), false), v(theta.attr("v"), false), a(theta.attr("a"), false);
        const View tone(theta.attr("tone"), false), lut(theta.attr("lut"), false);
        const View matrix(theta.attr("matrix"), false), bias(theta.attr("bias"), false);
        const View mean(theta.attr("mean"), false), recolor(theta.attr("recolor"), false);
        if ((*t).ndim != 2 || (*tone).ndim != 1 || (*lut).ndim != 3)
            throw nb::value_error("corrections have fields of another rank");
        const int64_t field = (*t).shape[0] * (*t).shape[1], cells = 2 * (*lut).shape[1] * (*lut).shape[1];
        Corrections corrections = {t.floats(field), v.floats(field), a.floats(field), int((*t).shape[0]),
                                   int((*t).shape[1]), tone.floats((*tone).shape[0]), int((*tone).shape[0]),
                                   lut.floats(cells), int((*lut).shape[1]), {}, {}, {}, {},
                                   nb::cast<float>(theta.attr("blend"))};
        std::copy_n(matrix.floats(9), 9, corrections.matrix);
        std::copy_n(bias.floats(3), 3, corrections.bias);
        std::copy_n(mean.floats(3), 3, corrections.mean);
        std::copy_n(recolor.floats(9), 9, corrections.recolor);
        const Image from = in.image(), target = to.image();
        Error error;
        {
            nb::gil_scoped_release release;
            error = engine->execute(from, corrections, target, strength, threads);
        }
        raise(error);
    }

    void enhance(nb::handle image, nb::handle out, float strength, int threads) {
        const View in(image, false), to(out, true);
        const Image from = in.image(), target = to.image();
        Error error;
        {
            nb::gil_scoped_release release;
            error = engine->enhance(from, target, strength, threads);
        }
        raise(error);
    }
};

nb::dict constants_by_name() {
    nb::dict values;
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

std::vector<std::string> instruction_set_names() {
    std::vector<std::string> names;
    for (const char* const* name = instruction_sets(); *name; ++name) names.emplace_back(*name);
    return names;
}

}  // namespace

NB_MODULE(_native, module) {
    nb::set_leak_warnings(false);  // the shared default Enhancer lives until the process ends
    nb::class_<PyEngine>(module, "Engine")
        .def(nb::init<nb::dict, int, int, int, int, nb::object>(), nb::arg("parameters"), nb::arg("width"),
             nb::arg("thumbnail"), nb::arg("lut_grid"), nb::arg("threads"), nb::arg("isa").none())
        .def("predict", &PyEngine::predict)
        .def("execute", &PyEngine::execute)
        .def("enhance", &PyEngine::enhance)
        .def_prop_ro("instruction_set", [](const PyEngine& self) { return self.engine->instruction_set(); })
        .def_prop_ro("threads", [](const PyEngine& self) { return self.engine->threads(); });
    module.def("constants", &constants_by_name);
    module.def("instruction_sets", &instruction_set_names);
    module.def(
        "peak_multiply_adds",
        [](const std::string& isa, double seconds) {
            nb::gil_scoped_release release;
            return peak_multiply_adds(isa.c_str(), seconds);
        },
        nb::arg("isa"), nb::arg("seconds"));
}
