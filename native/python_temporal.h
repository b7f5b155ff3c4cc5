// The part of `pic_uie._native` about time; included by python.cpp, whose views of pictures it uses.

// A frame as the numbers of its scene, an array of float.
int describe(nb::object picture, nb::object out) {
    const View view("out", out, Access::write);
    auto* scene =
        reinterpret_cast<pic_uie::Scene*>(view.data<float>({int64_t(sizeof(pic_uie::Scene) / sizeof(float))}));
    return with_picture(
        picture, [&](const auto& in) { return without_lock([&] { return code(pic_uie::describe(in, *scene)); }); });
}

// Scenes of consecutive frames, (n, numbers of a scene).
struct Scenes {
    View view;
    const pic_uie::Scene* data;
    int count;

    explicit Scenes(nb::handle array) : view("scenes", array, Access::read), count(int(view.side(0))) {
        const int64_t numbers = int64_t(sizeof(pic_uie::Scene) / sizeof(float));
        data = reinterpret_cast<const pic_uie::Scene*>(view.data<float>({view.side(0), numbers}));
    }
};

bool is_cut(nb::object scenes, int index) {
    const Scenes all(scenes);
    return pic_uie::is_cut(all.data, all.count, index);
}

float scene_distance(nb::object scenes, int a, int b) {
    const Scenes all(scenes);
    if (a < 0 || b < 0 || a >= all.count || b >= all.count) throw nb::index_error("no such scene");
    return pic_uie::distance(all.data[a], all.data[b]);
}

struct PyCausalFilter {
    std::unique_ptr<pic_uie::CausalFilter> filter;
    int64_t size;

    PyCausalFilter(int64_t numbers, double frames) : size(numbers) {
        if (const Error error = pic_uie::CausalFilter::create(numbers, frames, filter))
            throw nb::value_error(pic_uie::message(error));
    }
    bool push(nb::object scene, nb::object theta, nb::object smoothed) {
        const View one("scene", scene, Access::read), in("theta", theta, Access::read),
            out("smoothed", smoothed, Access::write);
        const auto* numbers = one.data<float>({int64_t(sizeof(pic_uie::Scene) / sizeof(float))});
        return filter->push(*reinterpret_cast<const pic_uie::Scene*>(numbers), in.data<float>({size}),
                            out.data<float>({size}));
    }
};

void add_temporal(nb::module_& module) {
    module.attr("SCENE_NUMBERS") = int(sizeof(pic_uie::Scene) / sizeof(float));
    module.attr("FLASH_FRAMES") = pic_uie::FLASH_FRAMES;
    module.def("describe", &describe, nb::arg("picture"), nb::arg("out"));
    module.def("is_cut", &is_cut, nb::arg("scenes"), nb::arg("index"));
    module.def("scene_distance", &scene_distance, nb::arg("scenes"), nb::arg("a"), nb::arg("b"));
    nb::class_<PyCausalFilter>(module, "CausalFilter")
        .def(nb::init<int64_t, double>(), nb::arg("size"), nb::arg("frames"))
        .def("push", &PyCausalFilter::push, nb::arg("scene"), nb::arg("theta"), nb::arg("smoothed"));
}
