#include "checks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace pic_uie {
namespace {

bool overflows(int64_t count, int64_t stride) {
    int64_t extent;
    return __builtin_mul_overflow(count, stride, &extent) || extent > (int64_t(1) << 46) ||
           extent < -(int64_t(1) << 46);
}

bool finite(const float* values, int64_t count) {
    if (!values) return false;
    for (int64_t i = 0; i < count; ++i)
        if (!std::isfinite(values[i])) return false;
    return true;
}

bool too_large(int64_t height, int64_t width) {
    constexpr int64_t side = int64_t(1) << 31, pixels = int64_t(1) << 36;
    return height > side || width > side || height > pixels / width;
}

// Whether two samples may share a byte. With the axes sorted by stride, each must step over all that the ones below it
// span; layouts that interleave without sharing exist, and nobody has them.
bool samples_overlap(const Image& out) {
    struct Axis {
        int64_t stride, count;
    };
    Axis axes[3] = {{std::abs(out.row_stride), out.height},
                    {std::abs(out.pixel_stride), out.width},
                    {std::abs(out.channel_stride), out.channels}};
    std::sort(axes, axes + 3, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    int64_t span = bytes_per_sample(out.depth);
    for (const Axis& axis : axes) {
        if (axis.count == 1) continue;
        if (axis.stride < span) return true;
        span += axis.stride * (axis.count - 1);
    }
    return false;
}

}  // namespace

int64_t bytes_per_sample(Depth depth) { return depth == Depth::u8 ? 1 : depth == Depth::u16 ? 2 : 4; }
int64_t bytes_per_sample(const Yuv& frame) { return frame.bits == 8 ? 1 : 2; }

Error check_picture(const Image& image) {
    if (!image.data || image.height < 1 || image.width < 1) return Code::no_pixels;
    if (too_large(image.height, image.width)) return Code::too_large;
    if (image.channels != 1 && image.channels != 3 && image.channels != 4) return Code::bad_channels;
    if (overflows(image.height, image.row_stride) || overflows(image.width, image.pixel_stride) ||
        overflows(image.channels, image.channel_stride))
        return Code::bad_strides;
    return {};
}

Error check_picture(const Yuv& f) {
    if (!f.y || !f.cb || !f.cr || f.height < 1 || f.width < 1) return Code::no_pixels;
    if (too_large(f.height, f.width)) return Code::too_large;
    if (f.bits < 8 || f.bits > 16) return Code::bad_layout;
    if (overflows(f.height, f.y_stride) || overflows(f.height, f.chroma_stride) || overflows(f.width, f.chroma_step))
        return Code::bad_strides;
    const int64_t size = bytes_per_sample(f), chroma_width = (f.width + 1) / 2;
    const bool aligned = (uintptr_t(f.y) | uintptr_t(f.cb) | uintptr_t(f.cr) | uintptr_t(f.y_stride) |
                          uintptr_t(f.chroma_stride) | uintptr_t(f.chroma_step)) %
                             uintptr_t(size) ==
                         0;
    if (!aligned || f.chroma_step < size || (f.height > 1 && f.y_stride < f.width * size) ||
        (f.height > 2 && f.chroma_stride < (chroma_width - 1) * f.chroma_step + size))
        return Code::bad_layout;
    if (!(f.kr > 0.0 && f.kb > 0.0 && f.kr + f.kb < 1.0)) return Code::bad_layout;
    return {};
}

Error check_pair(const Image& image, const Image& out, float strength) {
    if (Error error = check_picture(image)) return error;
    if (Error error = check_picture(out)) return error;
    if (out.height != image.height || out.width != image.width || out.channels != image.channels ||
        out.depth != image.depth)
        return Code::unlike_output;
    if (samples_overlap(out)) return Code::overlapping_output;
    if (!(strength >= 0.0f && strength <= 1.0f)) return Code::bad_strength;
    return {};
}

Error check_part(const Image& image, int64_t x, int64_t y, const Image& out, float strength) {
    if (Error error = check_picture(image)) return error;
    if (Error error = check_picture(out)) return error;
    if (out.channels != image.channels || out.depth != image.depth) return Code::unlike_output;
    if (x < 0 || y < 0 || x > image.width - out.width || y > image.height - out.height || !apart(image, out))
        return Code::bad_part;
    if (samples_overlap(out)) return Code::overlapping_output;
    if (!(strength >= 0.0f && strength <= 1.0f)) return Code::bad_strength;
    return {};
}

Error check_pair(const Yuv& frame, const Yuv& out, float strength) {
    if (Error error = check_picture(frame)) return error;
    if (Error error = check_picture(out)) return error;
    if (out.height != frame.height || out.width != frame.width || out.bits != frame.bits || out.kr != frame.kr ||
        out.kb != frame.kb || out.full_range != frame.full_range)
        return Code::unlike_output;
    if (out.y == out.cb || out.y == out.cr || out.cb == out.cr) return Code::overlapping_output;
    if (!(strength >= 0.0f && strength <= 1.0f)) return Code::bad_strength;
    return {};
}

Error check_corrections(const Corrections& c) {
    if (c.field_height < 1 || c.field_width < 1 || int64_t(c.field_height) * c.field_width > (1 << 26))
        return Code::bad_fields;
    if (c.tone_samples < 2 || c.tone_samples > (1 << 23)) return Code::bad_tone;
    if (c.grid < 2 || c.grid > 8192) return Code::bad_table;
    const int64_t field = int64_t(c.field_height) * c.field_width;
    if (!finite(c.t, field) || !finite(c.v, field) || !finite(c.a, field) || !finite(c.tone, c.tone_samples) ||
        !finite(c.lut, 2 * int64_t(c.grid) * c.grid) || !finite(c.matrix, 9) || !finite(c.bias, 3) ||
        !finite(c.mean, 3) || !finite(c.recolor, 9) || !finite(&c.blend, 1) || !finite(&c.refinement, 1))
        return Code::bad_corrections;
    return {};
}

Error check_memory(const CorrectionsOut& c) {
    if (!c.t || !c.v || !c.a || !c.tone || !c.lut || !c.affine || !c.covariance) return Code::no_corrections;
    return {};
}

Error check_statistics(const Statistics& s) {
    for (int i = 0; i < 3; ++i) {
        if (!std::isfinite(s.mean[i])) return Code::bad_statistics;
        for (int j = 0; j < 3; ++j)
            if (!std::isfinite(s.covariance[3 * i + j]) || s.covariance[3 * i + j] != s.covariance[3 * j + i])
                return Code::bad_statistics;
    }
    return {};
}

Error check_parameters(const Parameters& p) {
    if (p.width < 1 || p.width > 1024) return Code::bad_width;
    if (p.thumbnail < 16 || p.thumbnail > 4096 || p.thumbnail % constants::DOWNSAMPLING) return Code::bad_thumbnail;
    if (p.grid < 2 || p.grid > 257) return Code::bad_grid;
    const int64_t w = p.width;
    auto bad = [](const Layer& layer, int64_t outputs, int64_t inputs) {
        return !finite(layer.weight, outputs * inputs) || !finite(layer.bias, outputs);
    };
    if (bad(p.conv[0], w, 27) || bad(p.conv[1], w, 9 * w) || bad(p.conv[2], w, 9 * w) || bad(p.norm[0], w, 1) ||
        bad(p.norm[1], w, 1) || bad(p.norm[2], w, 1) || bad(p.statistics, w, 6) || bad(p.t, 1, w) || bad(p.v, 1, w) ||
        bad(p.a, 1, w) || bad(p.tone, constants::TONE_INCREMENTS, w) ||
        bad(p.chroma, 2 * int64_t(p.grid) * p.grid, w) || bad(p.affine, 12, w) || bad(p.covariance, 10, w) ||
        bad(p.expand, 16, 9) || bad(p.depthwise, 16, 9) || bad(p.project, 1, 144) || !std::isfinite(p.beta) ||
        !std::isfinite(p.gamma))
        return Code::bad_weights;
    return {};
}

bool apart(const Image& image, const Image& out) {
    struct Span {
        uintptr_t first, end;
        explicit Span(const Image& i) : first(uintptr_t(i.data)), end(first + uintptr_t(bytes_per_sample(i.depth))) {
            for (const int64_t step :
                 {i.row_stride * (i.height - 1), i.pixel_stride * (i.width - 1), i.channel_stride * (i.channels - 1)})
                (step < 0 ? first : end) += uintptr_t(step);
        }
    };
    const Span a(image), b(out);
    return a.end <= b.first || b.end <= a.first;
}

bool row_in_range(const Image& image, int64_t y) {
    const int channels = image.channels == 4 ? 3 : image.channels;
    const char* p = static_cast<const char*>(image.data) + y * image.row_stride;
    bool fine = true;
    for (int64_t x = 0; x < image.width; ++x, p += image.pixel_stride)
        for (int c = 0; c < channels; ++c) {
            float s;
            std::memcpy(&s, p + c * image.channel_stride, 4);
            fine &= s >= 0.0f && s <= 1.0f;
        }
    return fine;
}

void copy_row(const Image& in, const Image& out, int64_t y) {
    const int64_t size = bytes_per_sample(in.depth);
    const char* p = static_cast<const char*>(in.data) + y * in.row_stride;
    char* q = const_cast<char*>(static_cast<const char*>(out.data)) + y * out.row_stride;
    const bool packed = in.channel_stride == size && in.pixel_stride == size * in.channels &&
                        out.channel_stride == size && out.pixel_stride == size * out.channels;
    if (packed) {
        std::memmove(q, p, size_t(in.width * in.pixel_stride));
        return;
    }
    for (int64_t x = 0; x < in.width; ++x)
        for (int c = 0; c < in.channels; ++c)
            std::memmove(q + x * out.pixel_stride + c * out.channel_stride,
                         p + x * in.pixel_stride + c * in.channel_stride, size_t(size));
}

void copy_row(const Yuv& in, const Yuv& out, int64_t y) {
    const size_t size = size_t(bytes_per_sample(in));
    auto place = [](const void* plane, int64_t offset) {
        return const_cast<char*>(static_cast<const char*>(plane)) + offset;
    };
    std::memmove(place(out.y, y * out.y_stride), place(in.y, y * in.y_stride), size_t(in.width) * size);
    if (y % 2) return;
    const void *const from[] = {in.cb, in.cr}, *const to[] = {out.cb, out.cr};
    for (int c = 0; c < 2; ++c)
        for (int64_t x = 0; x < (in.width + 1) / 2; ++x)
            std::memmove(place(to[c], y / 2 * out.chroma_stride + x * out.chroma_step),
                         place(from[c], y / 2 * in.chroma_stride + x * in.chroma_step), size);
}

}  // namespace pic_uie
