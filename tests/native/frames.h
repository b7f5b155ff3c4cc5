// Frames of random layout, matrix, range and bits, against the reference on the RGB that they stand for.
#pragma once

#include <cstring>
#include <memory>

#include "pic_uie.h"
#include "random.h"
#include "reference.h"

namespace frames {

using pic_uie::Code;
using pic_uie::Engine;
using pic_uie::Statistics;
using pic_uie::Yuv;
using random_input::Model;
using random_input::real;
using random_input::require;
using random_input::Theta;
using random_input::uniform;

// Planes to the byte, so that the address sanitizer sees every access beyond them.
struct Frame {
    std::unique_ptr<uint8_t[]> luma, chroma;
    Yuv yuv = {};

    Frame(int64_t height, int64_t width, const Yuv& kind, bool interleaved) {
        yuv = kind;
        const int64_t size = kind.bits == 8 ? 1 : 2, rows = (height + 1) / 2, columns = (width + 1) / 2;
        yuv.height = height, yuv.width = width;
        yuv.y_stride = size * (width + uniform(0, 3));
        yuv.chroma_step = interleaved ? 2 * size : size;
        yuv.chroma_stride = yuv.chroma_step * (columns + uniform(0, 3));
        const int64_t plane = (rows - 1) * yuv.chroma_stride + (columns - 1) * yuv.chroma_step + size;
        const int64_t second = interleaved ? size : plane;
        luma = std::make_unique<uint8_t[]>(size_t((height - 1) * yuv.y_stride + width * size));
        chroma = std::make_unique<uint8_t[]>(size_t(second + plane));
        yuv.y = luma.get(), yuv.cb = chroma.get(), yuv.cr = chroma.get() + second;
    }

    // Plane 0 is y, 1 cb, 2 cr.
    uint8_t* at(int plane, int64_t row, int64_t x) const {
        const int64_t size = yuv.bits == 8 ? 1 : 2;
        const void* data = plane == 0 ? yuv.y : plane == 1 ? yuv.cb : yuv.cr;
        const int64_t offset = plane == 0 ? row * yuv.y_stride + x * size : row * yuv.chroma_stride + x * yuv.chroma_step;
        return static_cast<uint8_t*>(const_cast<void*>(data)) + offset;
    }
    int get(int plane, int64_t row, int64_t x) const {
        uint16_t wide;
        if (yuv.bits == 8) return *at(plane, row, x);
        return std::memcpy(&wide, at(plane, row, x), 2), wide;
    }
    void set(int plane, int64_t row, int64_t x, int value) {
        const uint16_t wide = uint16_t(value);
        if (yuv.bits == 8) *at(plane, row, x) = uint8_t(value);
        else std::memcpy(at(plane, row, x), &wide, 2);
    }
    int64_t rows(int plane) const { return plane ? (yuv.height + 1) / 2 : yuv.height; }
    int64_t columns(int plane) const { return plane ? (yuv.width + 1) / 2 : yuv.width; }
};

template <class Visit>
void each_sample(const Frame& frame, Visit visit) {
    for (int plane = 0; plane < 3; ++plane)
        for (int64_t row = 0; row < frame.rows(plane); ++row)
            for (int64_t x = 0; x < frame.columns(plane); ++x) visit(plane, row, x);
}

struct Levels {
    double luma, luma_zero, chroma, chroma_zero;

    explicit Levels(const Yuv& f) {
        const double unit = double(1 << (f.bits - 8)), highest = double((1 << f.bits) - 1);
        luma = f.full_range ? highest : 219 * unit, luma_zero = f.full_range ? 0 : 16 * unit;
        chroma = f.full_range ? highest : 224 * unit, chroma_zero = 128 * unit;
    }
};

// To RGB by the definition, the reference executor, and back to whole levels: no sample may differ by more than two of 8 bits.
inline void compare(const Frame& in, const Frame& out, const Theta& theta, const Model& model, float strength) {
    const Yuv& f = in.yuv;
    const Levels levels(f);
    const double kr = f.kr, kb = f.kb, kg = 1 - kr - kb;
    reference::Plane rgb[3];
    for (int64_t y = 0; y < f.height; ++y)
        for (int64_t x = 0; x < f.width; ++x) {
            const double luma = (in.get(0, y, x) - levels.luma_zero) / levels.luma;
            const double cb = (in.get(1, y / 2, x / 2) - levels.chroma_zero) / levels.chroma;
            const double cr = (in.get(2, y / 2, x / 2) - levels.chroma_zero) / levels.chroma;
            const double r = luma + 2 * (1 - kr) * cr, b = luma + 2 * (1 - kb) * cb;
            rgb[0].push_back(r), rgb[1].push_back((luma - kr * r - kb * b) / kg), rgb[2].push_back(b);
        }
    reference::execute(rgb, f.height, f.width, theta.c, model.p);
    auto luma_at = [&](int64_t i) { return kr * rgb[0][i] + kg * rgb[1][i] + kb * rgb[2][i]; };
    const double step = 2.0 * double(1 << (f.bits - 8)), highest = double((1 << f.bits) - 1);
    each_sample(in, [&](int plane, int64_t row, int64_t x) {
        double sum = 0, count = 0;
        const int64_t side = plane ? 2 : 1;
        for (int64_t v = side * row; v < std::min(side * row + side, f.height); ++v)
            for (int64_t u = side * x; u < std::min(side * x + side, f.width); ++u, ++count) {
                const int64_t i = v * f.width + u;
                sum += plane == 0   ? luma_at(i) * levels.luma + levels.luma_zero
                       : plane == 1 ? (rgb[2][i] - luma_at(i)) / (2 * (1 - kb)) * levels.chroma + levels.chroma_zero
                                    : (rgb[0][i] - luma_at(i)) / (2 * (1 - kr)) * levels.chroma + levels.chroma_zero;
            }
        const double before = in.get(plane, row, x);
        const double wanted = std::nearbyint(std::clamp(before + strength * (sum / count - before), 0.0, highest));
        if (std::abs(out.get(plane, row, x) - wanted) > step)
            std::fprintf(stderr, "plane %d, row %d, column %d of %dx%d: %d, wanted %.0f\n", plane, int(row), int(x), int(f.width),
                         int(f.height), out.get(plane, row, x), wanted);
        require(std::abs(out.get(plane, row, x) - wanted) <= step, "a frame agrees with the reference on its RGB");
    });
}

inline void random_round(Engine& engine, const Model& model) {
    const int height = uniform(0, 5) ? uniform(1, 90) : 1, width = uniform(0, 5) ? uniform(1, 150) : uniform(1, 1400);
    const double weights[3][2] = {{0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}};
    const int matrix = uniform(0, 2), bits[] = {8, 8, 10, 12};
    Yuv kind = {};
    kind.bits = bits[uniform(0, 3)], kind.kr = weights[matrix][0], kind.kb = weights[matrix][1];
    kind.full_range = uniform(0, 1) == 1;
    Frame in(height, width, kind, uniform(0, 1) == 1), out(height, width, kind, uniform(0, 1) == 1),
        again(height, width, kind, false);
    const int unit = 1 << (kind.bits - 8);
    const double slope = real(0.0f, 0.2f), phase = real(0.0f, 6.0f);  // in gamut, so that no clip lies before the model
    each_sample(in, [&](int plane, int64_t row, int64_t x) {
        const double wave = std::sin(slope * double(x + row) + phase);
        in.set(plane, row, x, unit * int(plane ? 128 + 12 * wave : 125 + 50 * wave + uniform(0, 9)));
    });
    // Chroma is corrected once for 2x2 pixels, with the mean t of two of them: fields that change little from pixel to pixel.
    const Theta theta(1 + height / 60, 1 + width / 60, uniform(2, 60), uniform(2, 14));
    const float strength = uniform(0, 1) ? 1.0f : real(0.01f, 1.0f);
    require(!engine.execute(in.yuv, theta.c, nullptr, out.yuv, strength, uniform(1, 4)), "execute a frame");
    Statistics own;
    require(!engine.measure(in.yuv, theta.c, own, uniform(1, 3)), "measure a frame");
    require(!engine.execute(in.yuv, theta.c, &own, again.yuv, strength, 1), "execute a frame on one thread");
    each_sample(in, [&](int plane, int64_t row, int64_t x) {
        require(out.get(plane, row, x) == again.get(plane, row, x), "frames: any thread count and layout, own statistics");
    });
    compare(in, out, theta, model, strength);
    require(!engine.enhance(in.yuv, out.yuv, strength, uniform(0, 3)), "enhance a frame");
    require(!engine.enhance(in.yuv, again.yuv, 0.0f, 0), "strength 0 of a frame");
    each_sample(in, [&](int plane, int64_t row, int64_t x) {
        require(in.get(plane, row, x) == again.get(plane, row, x), "strength 0 copies a frame");
    });
    require(!engine.enhance(in.yuv, in.yuv, strength, 2), "enhance a frame in its own memory");
    each_sample(in, [&](int plane, int64_t row, int64_t x) {
        require(in.get(plane, row, x) == out.get(plane, row, x), "the same in its own memory");
    });
}

inline void wrong_arguments(Engine& engine) {
    Yuv kind = {};
    kind.bits = 8, kind.kr = 0.299, kind.kb = 0.114;
    Frame frame(6, 7, kind, false);
    auto refused = [&](auto member, auto value, Code code) {
        Yuv bad = frame.yuv;
        bad.*member = value;
        require(engine.enhance(bad, bad, 1.0f, 1).code == code, "a bad frame");
    };
    refused(&Yuv::y, static_cast<const void*>(nullptr), Code::no_pixels);
    refused(&Yuv::height, int64_t(0), Code::no_pixels);
    refused(&Yuv::width, int64_t(1) << 40, Code::too_large);
    refused(&Yuv::bits, 7, Code::bad_layout);
    refused(&Yuv::bits, 17, Code::bad_layout);
    refused(&Yuv::y_stride, int64_t(3), Code::bad_layout);
    refused(&Yuv::chroma_step, int64_t(0), Code::bad_layout);
    refused(&Yuv::chroma_stride, int64_t(1), Code::bad_layout);
    refused(&Yuv::kr, 1.5, Code::bad_layout);
    refused(&Yuv::cb, frame.yuv.cr, Code::overlapping_output);
    Yuv other = frame.yuv;
    other.full_range = true;
    require(engine.enhance(frame.yuv, other, 1.0f, 1).code == Code::unlike_output, "another range of output");
}

}  // namespace frames
