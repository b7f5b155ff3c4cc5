// Drives the core with random and with wrong arguments: native_tests ROUNDS SEED. Memory is allocated to the byte, so the
// address sanitizer sees every access beyond it; results are compared with the reference and between thread counts.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "frames.h"
#include "pic_uie.h"
#include "random.h"
#include "reference.h"
#include "sixteen_bits.h"
#include "temporal_tests.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PIC_UIE_OWN_ALLOCATOR  // clang's thread sanitizer brings its own `new`
#endif
#endif

std::atomic<long> allocations{0};
#if !defined(PIC_UIE_OWN_ALLOCATOR)
void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

using pic_uie::Code;
using pic_uie::CorrectionsOut;
using pic_uie::Corrections;
using pic_uie::Depth;
using pic_uie::Engine;
using pic_uie::Error;
using pic_uie::Image;
using pic_uie::Parameters;
using pic_uie::Statistics;
using pic_uie::instruction_sets;
using random_input::Model;
using random_input::Theta;
using random_input::generator;
using random_input::real;
using random_input::require;
using random_input::uniform;

// Pixels with random strides of either sign and not one byte more than they need.
struct Pixels {
    std::unique_ptr<uint8_t[]> memory;
    Image image = {};

    Pixels(Depth depth, int64_t height, int64_t width, int channels) {
        const int64_t size = depth == Depth::u8 ? 1 : depth == Depth::u16 ? 2 : 4;
        const bool planar = uniform(0, 4) == 0;
        int64_t channel = size, pixel = size * channels, row;
        if (planar) {
            pixel = size, row = size * width + uniform(0, 3), channel = row * height;
        } else {
            if (uniform(0, 3) == 0) pixel += uniform(1, 5);
            row = pixel * width + uniform(0, 1) * uniform(0, 9);
        }
        const int64_t total = (height - 1) * row + (width - 1) * pixel + (channels - 1) * channel + size;
        memory = std::make_unique<uint8_t[]>(size_t(total));
        uint8_t* start = memory.get();
        if (uniform(0, 3) == 0) start += (height - 1) * row, row = -row;
        if (uniform(0, 3) == 0) start += (width - 1) * pixel, pixel = -pixel;
        image = {start, depth, height, width, channels, row, pixel, channel};
    }

    uint8_t* at(int64_t y, int64_t x, int c) const {
        return static_cast<uint8_t*>(const_cast<void*>(image.data)) + y * image.row_stride + x * image.pixel_stride +
               c * image.channel_stride;
    }
    void set(int64_t y, int64_t x, int c, double value) {
        if (image.depth == Depth::f32) {
            const float plain = float(value);
            std::memcpy(at(y, x, c), &plain, 4);
        } else if (image.depth == Depth::u16) {
            const uint16_t high = uint16_t(value * 65535 + 0.5);
            std::memcpy(at(y, x, c), &high, 2);
        } else {
            *at(y, x, c) = uint8_t(value * 255 + 0.5);
        }
    }
    size_t bytes() const { return image.depth == Depth::u8 ? 1 : image.depth == Depth::u16 ? 2 : 4; }
    double get(int64_t y, int64_t x, int c) const {
        uint16_t high;
        float plain;
        if (image.depth == Depth::u8) return *at(y, x, c) / 255.0;
        if (image.depth == Depth::u16) return std::memcpy(&high, at(y, x, c), 2), high / 65535.0;
        return std::memcpy(&plain, at(y, x, c), 4), plain;
    }
};

void compare(const Pixels& in, const Pixels& out, const Theta& theta, const Parameters& p, float strength) {
    const Image& image = in.image;
    const int colors = std::min(image.channels, 3);
    reference::Plane rgb[3];
    for (int c = 0; c < 3; ++c)
        for (int64_t i = 0; i < image.height * image.width; ++i)
            rgb[c].push_back(in.get(i / image.width, i % image.width, std::min(c, colors - 1)));
    reference::execute(rgb, image.height, image.width, theta.c, p);
    const double step = image.depth == Depth::u8 ? 1 / 255.0 : image.depth == Depth::u16 ? 4 / 65535.0 : 2e-5;
    for (int64_t y = 0; y < image.height; ++y)
        for (int64_t x = 0; x < image.width; ++x)
            for (int c = 0; c < image.channels; ++c) {
                const int64_t i = y * image.width + x;
                double wanted = c == 3 ? 0.0 : rgb[c][i];
                if (colors == 1) wanted = 0.299 * rgb[0][i] + 0.587 * rgb[1][i] + 0.114 * rgb[2][i];
                wanted = c == 3 ? in.get(y, x, 3) : in.get(y, x, c) + strength * (wanted - in.get(y, x, c));
                require(std::abs(out.get(y, x, c) - wanted) <= 1.001 * step, "agreement with the reference");
            }
}

// A part of a result is what the whole has there: to the byte if it has the picture's width, else but for rounding.
void part_round(Engine& engine, const Pixels& in, const Pixels& whole, const Theta& theta, const Statistics& own,
                float strength) {
    const Image& image = in.image;
    const bool strip = uniform(0, 1);
    const int width = strip ? int(image.width) : uniform(1, int(image.width)), height = uniform(1, int(image.height));
    const int left = uniform(0, int(image.width) - width), top = uniform(0, int(image.height) - height);
    Pixels part(image.depth, height, width, image.channels);
    const double rounding = image.depth == Depth::u8 ? 1 / 254.9 : image.depth == Depth::u16 ? 1 / 65534.9 : 1e-6;
    require(!engine.execute_part(image, theta.c, own, left, top, part.image, strength, uniform(1, 3)), "a part");
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < image.channels; ++c) {
                const double difference = std::abs(part.get(y, x, c) - whole.get(top + y, left + x, c));
                require(strip ? difference == 0.0 : difference <= rounding, "a part is that of the whole");
            }
    require(!engine.execute_part(image, theta.c, own, left, top, part.image, 0.0f, 1), "a part, strength 0");
    require(part.get(0, 0, 0) == in.get(top, left, 0), "strength 0 copies the part");
}

void random_round(Engine& engine, const Model& model) {
    const int height = uniform(0, 5) ? uniform(1, 90) : 1, width = uniform(0, 5) ? uniform(1, 150) : uniform(1, 900);
    const Depth depth = Depth(uniform(0, 2));
    const int channels = uniform(0, 2) ? 3 : uniform(0, 1) ? 4 : 1;
    Pixels in(depth, height, width, channels), out(depth, height, width, channels), again(depth, height, width, channels);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) in.set(y, x, c, real(0.0f, 1.0f));
    const Theta theta(uniform(1, 40), uniform(1, 40), uniform(2, 60), uniform(2, 14));
    const float strength = uniform(0, 1) ? 1.0f : real(0.01f, 1.0f);
    require(!engine.execute(in.image, theta.c, nullptr, out.image, strength, uniform(1, 4)), "execute");
    require(!engine.execute(in.image, theta.c, nullptr, again.image, strength, 1), "execute on one thread");
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                require(out.get(y, x, c) == again.get(y, x, c), "the same bytes for any thread count and strides");
    compare(in, out, theta, model.p, strength);
    Statistics own;
    require(!engine.measure(in.image, theta.c, own, uniform(1, 3)), "measure");
    require(!engine.execute(in.image, theta.c, &own, again.image, strength, 1), "execute with statistics");
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                require(out.get(y, x, c) == again.get(y, x, c), "its own statistics change nothing");
    const std::mt19937 before = random_input::generator;  // later rounds do not depend on how parts are drawn
    part_round(engine, in, out, theta, own, strength);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) std::memcpy(again.at(y, x, c), in.at(y, x, c), in.bytes());
    require(!engine.execute(again.image, theta.c, &own, again.image, strength, uniform(1, 3)), "in place");
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c)
                require(out.get(y, x, c) == again.get(y, x, c), "the same in place with statistics");
    random_input::generator = before;
    require(!engine.enhance(in.image, out.image, strength, uniform(0, 3)), "enhance");
    require(!engine.enhance(in.image, out.image, 0.0f, 0), "strength 0");
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) require(out.get(y, x, 0) == in.get(y, x, 0), "strength 0 copies");
}

void nothing_is_allocated_again(Engine& engine) {
    Pixels in(Depth::u8, 70, 80, 3), out(Depth::u8, 70, 80, 3);
    for (int round = 0; round < 5; ++round) {
        const long before = allocations;
        require(!engine.enhance(in.image, out.image, 0.5f, 2), "enhance");
        require(round == 0 || allocations == before, "no allocation after the first call");
    }
}

void wrong_arguments(Engine& engine, Model& model) {
    Pixels pixels(Depth::u8, 4, 5, 3);
    const Image good = pixels.image;
    Theta theta(2, 2, 5, 3);
    auto refused = [&](Image in, Image out, const Corrections& c, float strength, const char* what) {
        require(bool(engine.execute(in, c, nullptr, out, strength, 1)), what);
    };
    const int64_t huge = std::numeric_limits<int64_t>::max();
    auto with = [&](auto member, auto value) {
        Image image = good;
        image.*member = value;
        return image;
    };
    for (const Image& bad : {with(&Image::data, static_cast<const void*>(nullptr)), with(&Image::height, int64_t(0)),
                             with(&Image::width, int64_t(-1)), with(&Image::height, huge), with(&Image::width, huge),
                             with(&Image::channels, 2), with(&Image::row_stride, huge), with(&Image::pixel_stride, -huge)}) {
        refused(bad, bad, theta.c, 1.0f, "a bad picture");
        CorrectionsOut nowhere = {};
        require(bool(engine.predict(bad, nowhere, 1)), "a bad picture to predict");
        require(bool(engine.enhance(bad, bad, 1.0f, 1)), "a bad picture to enhance");
    }
    refused(good, with(&Image::width, int64_t(4)), theta.c, 1.0f, "another size of output");
    const Image packed = {good.data, Depth::u8, 2, 3, 3, 9, 3, 1};
    for (int64_t stride : {0, 1, 2}) {
        Image overlapping = packed;
        overlapping.pixel_stride = stride;
        require(engine.execute(packed, theta.c, nullptr, overlapping, 1.0f, 1).code == Code::overlapping_output,
                "output that overlaps itself");
    }
    Statistics odd = {};
    odd.covariance[1] = 0.5;
    require(engine.execute(good, theta.c, &odd, good, 1.0f, 1).code == Code::bad_statistics, "a covariance that is none");
    const Statistics plain = {{}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    Pixels small(Depth::u8, 2, 3, 3), floating(Depth::f32, 2, 3, 3);
    auto part = [&](int64_t x, int64_t y, const Image& out, float strength, const Statistics& statistics) {
        return engine.execute_part(good, theta.c, statistics, x, y, out, strength, 1).code;
    };
    require(part(2, 2, small.image, 1.0f, plain) == Code::none, "the last part");
    const int64_t outside[][2] = {{-1, 0}, {0, -1}, {3, 0}, {0, 3}, {huge, 0}, {0, huge}};
    for (const auto& [x, y] : outside) require(part(x, y, small.image, 1.0f, plain) == Code::bad_part, "a part outside");
    require(part(0, 0, good, 1.0f, plain) == Code::bad_part, "a part in the picture's own memory");
    require(part(0, 0, floating.image, 1.0f, plain) == Code::unlike_output, "a part of another depth");
    require(part(0, 0, small.image, 1.5f, plain) == Code::bad_strength, "a part of a bad strength");
    require(part(0, 0, small.image, 1.0f, odd) == Code::bad_statistics, "a part with a covariance that is none");
    for (float strength : {-0.1f, 1.1f, std::numeric_limits<float>::quiet_NaN()})
        refused(good, good, theta.c, strength, "a bad strength");
    CorrectionsOut nowhere = {};
    require(engine.predict(good, nowhere, 1).code == Code::no_corrections, "nowhere to write");

    auto change = [&](auto edit, const char* what) {
        Corrections c = theta.c;
        edit(c);
        refused(good, good, c, 1.0f, what);
    };
    change([](Corrections& c) { c.t = nullptr; }, "no field");
    change([](Corrections& c) { c.grid = 1; }, "a table of one sample");
    change([](Corrections& c) { c.tone_samples = 1; }, "a curve of one sample");
    change([](Corrections& c) { c.field_width = 0; }, "an empty field");
    change([](Corrections& c) { c.blend = std::numeric_limits<float>::infinity(); }, "an infinite correction");

    Pixels floats(Depth::f32, 3, 3, 3);
    floats.set(1, 1, 1, std::numeric_limits<double>::quiet_NaN());
    refused(floats.image, floats.image, theta.c, 1.0f, "NaN in the picture");
    floats.set(1, 1, 1, 1.5);
    require(engine.execute(floats.image, theta.c, nullptr, floats.image, 1.0f, 1).code == Code::bad_samples, "samples beyond 1");

    std::unique_ptr<Engine> none;
    Parameters p = model.p;
    p.gamma = std::numeric_limits<float>::quiet_NaN();
    require(bool(Engine::create(p, 1, nullptr, none)) && !none, "NaN in the weights");
    p = model.p, p.expand.weight = nullptr;
    require(bool(Engine::create(p, 1, nullptr, none)) && !none, "weights that are missing");
    p = model.p, p.thumbnail = 20;
    require(bool(Engine::create(p, 1, nullptr, none)) && !none, "an odd thumbnail");
    require(bool(Engine::create(model.p, 0, nullptr, none)) && !none, "no threads");
    require(bool(Engine::create(model.p, 1, "abacus", none)) && !none, "an unknown instruction set");
}

// A number that stands for the bytes of a few results, to compare machines and compilers.
unsigned long long digest(Engine& engine) {
    unsigned long long hash = 14695981039346656037ull;
    for (int channels : {3, 4}) {
        std::vector<uint8_t> in(size_t(131 * 97 * channels)), out(in.size());
        for (size_t i = 0; i < in.size(); ++i) in[i] = uint8_t(120 + 100 * std::sin(double(i) / 37.0) + double(i % 11));
        const Image image = {in.data(), Depth::u8, 97, 131, channels, 131 * channels, channels, 1};
        Image target = image;
        target.data = out.data();
        require(!engine.enhance(image, target, 1.0f, 2), "enhance");
        for (uint8_t byte : out) hash = (hash ^ byte) * 1099511628211ull;
    }
    return hash;
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    sixteen_bits::rounds(10 * rounds);  // its weights are drawn from the generator's first values: all of them are active
    generator.seed(argc > 2 ? unsigned(std::atoi(argv[2])) : 1u);
    temporal_tests::run(4 * rounds);
    for (const char* const* isa = instruction_sets(); *isa; ++isa) {
        generator.seed(argc > 2 ? unsigned(std::atoi(argv[2])) : 1u);  // the same for every set
        Model model(uniform(1, 20), 8 * uniform(2, 6), uniform(2, 10));
        Model small(uniform(1, 20), 8 * uniform(2, 6), uniform(2, 10), 0.01f);  // frames of 8 bits go in fixed point
        model.silence(uniform(0, 15)), small.silence(uniform(0, 15));
        std::unique_ptr<Engine> engine;
        require(!Engine::create(model.p, 2, *isa, engine), "create");
        require(std::string(engine->instruction_set()) == *isa, "the instruction set asked for");
        for (int round = 0; round < rounds; ++round) random_round(*engine, model);
        for (int round = 0; round < rounds; ++round) frames::random_round(*engine, model);
        std::unique_ptr<Engine> fixed_engine;
        require(!Engine::create(small.p, 2, *isa, fixed_engine), "create");
        for (int round = 0; round < rounds; ++round) frames::random_round(*fixed_engine, small);
        frames::wrong_arguments(*engine);
        nothing_is_allocated_again(*engine);
        wrong_arguments(*engine, model);
        std::printf("%s: %d rounds passed\n", *isa, rounds);
        if (argc > 3) std::printf("%s digest %llx\n", *isa, digest(*engine));
    }
}
