#include "checks.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace pic_uie {
namespace {

bool overflows(int64_t count, int64_t stride) {
    int64_t extent;
    return __builtin_mul_overflow(count, stride, &extent) || extent > (int64_t(1) << 46) || extent < -(int64_t(1) << 46);
}

bool finite(const float* values, int64_t count) {
    if (!values) return false;
    for (int64_t i = 0; i < count; ++i)
        if (!std::isfinite(values[i])) return false;
    return true;
}

}  // namespace

int64_t bytes_per_sample(Depth depth) { return depth == Depth::u8 ? 1 : depth == Depth::u16 ? 2 : 4; }

Error check_image(const Image& image) {
    if (!image.data) return "the picture has no data";
    if (image.height < 1 || image.width < 1) return "the picture has no pixels";
    if (image.height > (int64_t(1) << 31) || image.width > (int64_t(1) << 31) ||
        image.height > (int64_t(1) << 36) / image.width)
        return "the picture is too large";
    if (image.channels != 1 && image.channels != 3 && image.channels != 4)
        return "the picture must have 1, 3 or 4 channels";
    if (overflows(image.height, image.row_stride) || overflows(image.width, image.pixel_stride) ||
        overflows(image.channels, image.channel_stride))
        return "the picture's strides overflow";
    return nullptr;
}

Error check_pair(const Image& image, const Image& out, float strength) {
    if (Error error = check_image(image)) return error;
    if (Error error = check_image(out)) return error;
    if (out.height != image.height || out.width != image.width || out.channels != image.channels ||
        out.depth != image.depth)
        return "input and output must have the same size, channels and depth";
    const int64_t size = bytes_per_sample(out.depth);
    if ((out.height > 1 && std::abs(out.row_stride) < size) || (out.width > 1 && std::abs(out.pixel_stride) < size) ||
        (out.channels > 1 && std::abs(out.channel_stride) < size))
        return "output samples overlap: wrong strides";
    if (!(strength >= 0.0f && strength <= 1.0f)) return "strength must be in [0, 1]";
    return nullptr;
}

Error check_corrections(const Corrections& c) {
    if (c.field_height < 1 || c.field_width < 1 || int64_t(c.field_height) * c.field_width > (1 << 26))
        return "the fields t, v, a must have 1 to 2^26 samples";
    if (c.tone_samples < 2 || c.tone_samples > (1 << 23)) return "the tone curve must have 2 to 2^23 samples";
    if (c.grid < 2 || c.grid > 8192) return "the chroma table must have 2 to 8192 samples a side";
    const int64_t field = int64_t(c.field_height) * c.field_width;
    if (!finite(c.t, field) || !finite(c.v, field) || !finite(c.a, field) || !finite(c.tone, c.tone_samples) ||
        !finite(c.lut, 2 * int64_t(c.grid) * c.grid) || !finite(c.matrix, 9) || !finite(c.bias, 3) ||
        !finite(c.mean, 3) || !finite(c.recolor, 9) || !finite(&c.blend, 1))
        return "the corrections have values that are missing or not finite";
    return nullptr;
}

Error check_parameters(const Parameters& p) {
    if (p.width < 1 || p.width > 1024) return "the predictor's width must be 1 to 1024";
    if (p.thumbnail < 16 || p.thumbnail > 4096 || p.thumbnail % constants::DOWNSAMPLING)
        return "the thumbnail must be a multiple of 8 from 16 to 4096";
    if (p.grid < 2 || p.grid > 257) return "the chroma table must have 2 to 257 samples a side";
    const int64_t w = p.width;
    auto bad = [](const Layer& layer, int64_t outputs, int64_t inputs) {
        return !finite(layer.weight, outputs * inputs) || !finite(layer.bias, outputs);
    };
    if (bad(p.conv[0], w, 27) || bad(p.conv[1], w, 9 * w) || bad(p.conv[2], w, 9 * w) || bad(p.norm[0], w, 1) ||
        bad(p.norm[1], w, 1) || bad(p.norm[2], w, 1) || bad(p.statistics, w, 6) || bad(p.t, 1, w) || bad(p.v, 1, w) ||
        bad(p.a, 1, w) || bad(p.tone, constants::TONE_INCREMENTS, w) || bad(p.chroma, 2 * int64_t(p.grid) * p.grid, w) ||
        bad(p.affine, 12, w) || bad(p.covariance, 10, w) || bad(p.expand, 16, 9) || bad(p.depthwise, 16, 9) ||
        bad(p.project, 1, 144) || !std::isfinite(p.beta) || !std::isfinite(p.gamma))
        return "the weights have values that are missing or not finite";
    return nullptr;
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

}  // namespace pic_uie
