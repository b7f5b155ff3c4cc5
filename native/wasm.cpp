// The thin binding for WebAssembly: plain functions on memory that the caller allocates here. Codes are those of
// base/error.h. θ is one flat array of floats in the order of `Layout`; weights are all parameters in the order of
// src/pic_uie/weights/layout.py; statistics are 12 doubles.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/pool.h"
#include "pic_uie.h"
#include "temporal.h"

#define PIC_UIE_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace {

using pic_uie::CausalFilter;
using pic_uie::Corrections;
using pic_uie::CorrectionsOut;
using pic_uie::Engine;
using pic_uie::Error;
using pic_uie::Image;
using pic_uie::Layer;
using pic_uie::Parameters;
using pic_uie::Scene;
using pic_uie::Statistics;
using pic_uie::Yuv;
namespace constants = pic_uie::constants;

std::unique_ptr<Engine> engine;
int side, grid;

// Where the parts of θ lie: t, v, a, tone, lut, M, b, u, G, α, refinement.
struct Layout {
    int field = side * side, tone = 3 * field, lut = tone + constants::TONE_INCREMENTS + 1,
        affine = lut + 2 * grid * grid, covariance = affine + 12, refinement = covariance + 13, size = refinement + 1;
};

CorrectionsOut out_of(float* theta) {
    const Layout at;
    return {theta,          theta + at.field,  theta + 2 * at.field, theta + at.tone,
            theta + at.lut, theta + at.affine, theta + at.covariance};
}

Corrections corrections_of(const float* theta) {
    const Layout at;
    Corrections c = {theta,
                     theta + at.field,
                     theta + 2 * at.field,
                     side,
                     side,
                     theta + at.tone,
                     constants::TONE_INCREMENTS + 1,
                     theta + at.lut,
                     grid,
                     {},
                     {},
                     {},
                     {},
                     theta[at.covariance + 12],
                     theta[at.refinement]};
    std::copy_n(theta + at.affine, 9, c.matrix);
    std::copy_n(theta + at.affine + 9, 3, c.bias);
    std::copy_n(theta + at.covariance, 3, c.mean);
    std::copy_n(theta + at.covariance + 3, 9, c.recolor);
    return c;
}

Image packed(const void* pixels, int width, int height, int channels) {
    return {pixels, pic_uie::Depth::u8, height, width, channels, int64_t(width) * channels, channels, 1};
}

int code(Error error) { return int(error.code); }

// Parameters one after the other.
class Flat {
  public:
    explicit Flat(const float* at) : at_(at) {}
    const float* take(int count) { return (at_ += count) - count; }
    Layer layer(int outputs, int inputs) {
        const float* weight = take(outputs * inputs);
        return {weight, take(outputs)};
    }

  private:
    const float* at_;
};

}  // namespace

PIC_UIE_EXPORT(allocate) void* allocate(size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
PIC_UIE_EXPORT(release) void release(void* memory) { std::free(memory); }

PIC_UIE_EXPORT(create) int create(const float* weights, int width, int thumbnail, int lut_grid, int threads) {
    Flat flat(weights);
    Parameters p = {};
    p.width = width, p.thumbnail = thumbnail, p.grid = grid = lut_grid, side = thumbnail / constants::DOWNSAMPLING;
    for (int i = 0; i < 3; ++i) p.conv[i] = flat.layer(width, 9 * (i ? width : 3)), p.norm[i] = flat.layer(width, 1);
    p.statistics = flat.layer(width, 6);
    p.t = flat.layer(1, width), p.v = flat.layer(1, width), p.a = flat.layer(1, width);
    p.tone = flat.layer(constants::TONE_INCREMENTS, width);
    p.chroma = flat.layer(2 * grid * grid, width);
    p.affine = flat.layer(12, width), p.covariance = flat.layer(10, width);
    p.beta = *flat.take(1), p.gamma = *flat.take(1);
    p.expand = flat.layer(constants::REFINER_WIDTH, 9), p.depthwise = flat.layer(constants::REFINER_WIDTH, 9);
    p.project = flat.layer(1, 9 * constants::REFINER_WIDTH);
    return code(Engine::create(p, threads, nullptr, engine));
}

PIC_UIE_EXPORT(message) const char* message(int error) { return pic_uie::message(pic_uie::Code(error)); }
PIC_UIE_EXPORT(theta_size) int theta_size() { return Layout().size; }
PIC_UIE_EXPORT(field_side) int field_side() { return side; }
PIC_UIE_EXPORT(table_side) int table_side() { return grid; }

// Bytes that a call on a picture of this size allocates for itself, at most.
PIC_UIE_EXPORT(working_bytes) double working_bytes(int width, int height) {
    return 12.0 * (double(width) + 16.0) * double(height) + (1 << 22);
}

PIC_UIE_EXPORT(predict) int predict(const void* pixels, int width, int height, int channels, float* theta) {
    const Error error = engine->predict(packed(pixels, width, height, channels), out_of(theta), 0);
    theta[Layout().refinement] = 1.0f;
    return code(error);
}
PIC_UIE_EXPORT(measure)
int measure(const void* pixels, int width, int height, int channels, const float* theta, Statistics* statistics) {
    return code(engine->measure(packed(pixels, width, height, channels), corrections_of(theta), *statistics, 0));
}
// `statistics` 0: the picture's own.
PIC_UIE_EXPORT(execute)
int execute(const void* pixels, int width, int height, int channels, const float* theta, const Statistics* statistics,
            void* out, float strength) {
    return code(engine->execute(packed(pixels, width, height, channels), corrections_of(theta), statistics,
                                packed(out, width, height, channels), strength, 0));
}
// The part that begins at (x, y), packed, into memory outside the picture's.
PIC_UIE_EXPORT(execute_part)
int execute_part(const void* pixels, int width, int height, int channels, const float* theta,
                 const Statistics* statistics, int x, int y, int part_width, int part_height, void* out,
                 float strength) {
    return code(engine->execute_part(packed(pixels, width, height, channels), corrections_of(theta), *statistics, x, y,
                                     packed(out, part_width, part_height, channels), strength, 0));
}
PIC_UIE_EXPORT(scale)
int scale(const float* theta, float haze, float contrast, float colour, float balance, float* scaled) {
    return code(pic_uie::scale(corrections_of(theta), {haze, contrast, colour, balance}, out_of(scaled),
                               scaled[Layout().refinement]));
}

// Frames: `chroma_step` 1 for planes, 2 for interleaved samples; 8 bits; `matrix` 0 BT.601, 1 BT.709, 2 BT.2020.
namespace {
constexpr double LUMA_WEIGHTS[3][2] = {{0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}};  // of red and of blue

Yuv frame(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int width, int height, int y_stride,
          int chroma_stride, int chroma_step, int matrix, int full_range) {
    const auto& [kr, kb] = LUMA_WEIGHTS[matrix];
    return {y, cb, cr, height, width, y_stride, chroma_stride, chroma_step, 8, kr, kb, full_range != 0};
}
}  // namespace
#define PIC_UIE_FRAME                                                                                               \
    const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int width, int height, int y_stride, int chroma_stride, \
        int chroma_step, int matrix, int full_range
#define PIC_UIE_THE_FRAME frame(y, cb, cr, width, height, y_stride, chroma_stride, chroma_step, matrix, full_range)

PIC_UIE_EXPORT(predict_yuv) int predict_yuv(PIC_UIE_FRAME, float* theta) {
    const Error error = engine->predict(PIC_UIE_THE_FRAME, out_of(theta), 0);
    theta[Layout().refinement] = 1.0f;
    return code(error);
}
PIC_UIE_EXPORT(measure_yuv) int measure_yuv(PIC_UIE_FRAME, const float* theta, Statistics* statistics) {
    return code(engine->measure(PIC_UIE_THE_FRAME, corrections_of(theta), *statistics, 0));
}
// `out` is where y of the result begins; the other planes lie behind it as in the frame. It may be the frame's own memory.
PIC_UIE_EXPORT(execute_yuv)
int execute_yuv(PIC_UIE_FRAME, const float* theta, const Statistics* statistics, uint8_t* out, float strength) {
    Yuv result = PIC_UIE_THE_FRAME;
    result.y = out, result.cb = out + (cb - y), result.cr = out + (cr - y);
    return code(engine->execute(PIC_UIE_THE_FRAME, corrections_of(theta), statistics, result, strength, 0));
}
// A plane of half the size, rounded up, for a view: means of 2x2 samples, of each of `channels` interleaved ones.
PIC_UIE_EXPORT(halve)
void halve(const uint8_t* plane, int width, int height, int stride, int channels, uint8_t* out, int out_stride) {
    for (int row = 0; row < (height + 1) / 2; ++row) {
        const uint8_t* top = plane + 2 * row * stride;
        const uint8_t* bottom = 2 * row + 1 < height ? top + stride : top;
        uint8_t* to = out + row * out_stride;
        for (int left = 0; left < width; left += 2)
            for (int k = 0; k < channels; ++k) {
                const int a = left * channels + k, b = left + 1 < width ? a + channels : a;
                *to++ = uint8_t((top[a] + top[b] + bottom[a] + bottom[b] + 2) / 4);
            }
    }
}

// θ over time, as src/pic_uie/video/temporal.py does it for streams: `rate` in frames a second. 0: out of memory.
constexpr double SMOOTHED_SECONDS = 0.5;  // HALF_SECONDS there; a test compares
PIC_UIE_EXPORT(start_filter) CausalFilter* start_filter(double rate) {
    std::unique_ptr<CausalFilter> filter;
    const double frames = std::max(1.0, SMOOTHED_SECONDS * rate);
    return CausalFilter::create(Layout().size, frames, filter) ? nullptr : filter.release();
}
PIC_UIE_EXPORT(end_filter) void end_filter(CausalFilter* filter) { delete filter; }
namespace {
// What rounding moved across a limit is moved back.
int smooth(CausalFilter& filter, const Scene& scene, float* theta) {
    filter.push(scene, theta, theta);
    const Layout at;
    const auto clip = [&](int first, int last, float low, float high) {
        for (int i = first; i < last; ++i) theta[i] = std::min(std::max(theta[i], low), high);
    };
    clip(0, at.field, float(constants::T_MIN), 1.0f);
    clip(at.field, 2 * at.field, 0.0f, 1.0f);
    clip(2 * at.field, 3 * at.field, 0.0f, INFINITY);
    theta[at.tone] = 0.0f, theta[at.lut - 1] = 1.0f;
    clip(at.refinement - 1, at.size, 0.0f, 1.0f);  // α and the refinement
    return 0;
}
}  // namespace
// The next frame and its θ; θ becomes the smoothed one.
PIC_UIE_EXPORT(smooth_yuv) int smooth_yuv(PIC_UIE_FRAME, CausalFilter* filter, float* theta) {
    Scene scene;
    if (Error error = describe(PIC_UIE_THE_FRAME, scene)) return code(error);
    return smooth(*filter, scene, theta);
}
PIC_UIE_EXPORT(smooth)
int smooth(const void* pixels, int width, int height, int channels, CausalFilter* filter, float* theta) {
    Scene scene;
    if (Error error = describe(packed(pixels, width, height, channels), scene)) return code(error);
    return smooth(*filter, scene, theta);
}

// What the C++ library calls where something is beyond repair (out of memory): without its messages, which would bring all
// of printf along.
extern "C" [[noreturn]] void __abort_message(const char*, ...) { __builtin_trap(); }
_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept(noexcept(__libcpp_verbose_abort(""))) {
    __builtin_trap();
}
_LIBCPP_END_NAMESPACE_STD
