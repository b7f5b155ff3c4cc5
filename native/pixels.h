// Rows of pixels in any depth, channel count and stride to three rows of floats in [0, 1], and back.
#pragma once

#include <cstddef>
#include <cstring>

#include "packed.h"
#include "pic_uie.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Depth;
using pic_uie::depth_of;
using pic_uie::Image;

PIC_UIE_INLINE const uint8_t* pixel(const Image& image, int64_t y, int64_t x) {
    return static_cast<const uint8_t*>(image.data) + y * image.row_stride + x * image.pixel_stride;
}

// The same pixels, beginning with that one.
PIC_UIE_INLINE Image from(Image image, int64_t y, int64_t x) {
    image.data = pixel(image, y, x);
    return image;
}

// What packed.h has a way for.
enum class Layout { strided, rgb8, rgb16, rgba8 };

PIC_UIE_INLINE Layout layout_of(const Image& image) {
    auto packed = [&](Depth depth, int channels, int64_t size) PIC_UIE_INLINE_LAMBDA {
        return depth_of(image) == depth && image.channels == channels && image.channel_stride == size &&
               image.pixel_stride == size * channels;
    };
    if (packed(Depth::u8, 3, 1)) return Layout::rgb8;
    if (packed(Depth::u16, 3, 2)) return Layout::rgb16;
    if (packed(Depth::u8, 4, 1)) return Layout::rgba8;
    return Layout::strided;
}

PIC_UIE_INLINE float read_sample(const uint8_t* p, Depth depth) {
    if (depth == Depth::u8) return float(int32_t(*p)) * (1.0f / 255.0f);
    if (depth == Depth::u16) {
        uint16_t s;
        std::memcpy(&s, p, 2);
        return float(int32_t(s)) * (1.0f / 65535.0f);
    }
    float s;
    std::memcpy(&s, p, 4);
    return s;
}

template <Depth DEPTH>
inline void decode_strided(const Image& image, const uint8_t* p, int64_t count, float* r, float* g, float* b) {
    const int64_t step = image.channels == 1 ? 0 : image.channel_stride;  // grey: R = G = B
    for (int64_t i = 0; i < count; ++i, p += image.pixel_stride) {
        r[i] = read_sample(p, DEPTH);
        g[i] = read_sample(p + step, DEPTH);
        b[i] = read_sample(p + 2 * step, DEPTH);
    }
}

// Calls block(i) for every whole block of N pixels, and block_of_rest() for what is left over.
template <int N, class Block, class Rest>
PIC_UIE_INLINE void in_blocks(int64_t count, Block block, Rest rest) {
    int64_t i = 0;
    for (; i + N <= count; i += N) block(i);
    if (i < count) rest(i, count - i);
}

template <int N, int BYTES, class Unpack>
PIC_UIE_INLINE void decode_packed(const uint8_t* p, int64_t count, Unpack unpack) {
    in_blocks<N>(
        count, [&](int64_t i) PIC_UIE_INLINE_LAMBDA { unpack(p + BYTES * i, i); },
        [&](int64_t i, int64_t left) PIC_UIE_INLINE_LAMBDA {
            uint8_t rest[BYTES * N] = {};
            std::memcpy(rest, p + BYTES * i, size_t(BYTES * left));
            unpack(rest, i);
        });
}

// Pixels [x, x + count) of row y. Writes up to 15 floats beyond the count.
inline void decode(const Image& image, int64_t y, int64_t x, int64_t count, float* r, float* g, float* b) {
    const uint8_t* p = pixel(image, y, x);
    switch (layout_of(image)) {
        case Layout::rgb8:
            return decode_packed<16, 3>(p, count, [&](const uint8_t* from, int64_t i) PIC_UIE_INLINE_LAMBDA {
                unpack_rgb<uint8_t>(from, r + i, g + i, b + i);
            });
        case Layout::rgb16:
            return decode_packed<8, 6>(p, count, [&](const uint8_t* from, int64_t i) PIC_UIE_INLINE_LAMBDA {
                unpack_rgb<uint16_t>(from, r + i, g + i, b + i);
            });
        case Layout::rgba8:
            return decode_packed<LANES, 4>(p, count, [&](const uint8_t* from, int64_t i) PIC_UIE_INLINE_LAMBDA {
                unpack_rgba(from, r + i, g + i, b + i);
            });
        case Layout::strided: break;
    }
    switch (depth_of(image)) {
        case Depth::u8: return decode_strided<Depth::u8>(image, p, count, r, g, b);
        case Depth::u16: return decode_strided<Depth::u16>(image, p, count, r, g, b);
        case Depth::f32: return decode_strided<Depth::f32>(image, p, count, r, g, b);
    }
}

PIC_UIE_INLINE void write_sample(uint8_t* p, float x, Depth depth) {
    if (depth == Depth::u8) {
        *p = uint8_t(int32_t(x * 255.0f + 0.5f));
    } else if (depth == Depth::u16) {
        uint16_t s = uint16_t(int32_t(x * 65535.0f + 0.5f));
        std::memcpy(p, &s, 2);
    } else {
        std::memcpy(p, &x, 4);
    }
}

template <Depth DEPTH>
inline void encode_strided(const Image& out, uint8_t* p, int64_t count, const float* r, const float* g,
                           const float* b) {
    for (int64_t i = 0; i < count; ++i, p += out.pixel_stride) {
        write_sample(p, r[i], DEPTH);
        if (out.channels == 1) continue;  // the caller put the luma in r
        write_sample(p + out.channel_stride, g[i], DEPTH);
        write_sample(p + 2 * out.channel_stride, b[i], DEPTH);
    }
}

template <int N, int BYTES, class Pack>
PIC_UIE_INLINE void encode_packed(uint8_t* p, int64_t count, Pack pack) {
    in_blocks<N>(
        count, [&](int64_t i) PIC_UIE_INLINE_LAMBDA { pack(i, p + BYTES * i); },
        [&](int64_t i, int64_t left) PIC_UIE_INLINE_LAMBDA {
            uint8_t rest[BYTES * N];
            pack(i, rest);
            std::memcpy(p + BYTES * i, rest, size_t(BYTES * left));
        });
}

// The fourth channel passes through untouched.
inline void copy_alpha(const Image& in, const Image& out, int64_t count) {
    const Depth depth = depth_of(in);
    const int64_t size = depth == Depth::u8 ? 1 : depth == Depth::u16 ? 2 : 4;
    const uint8_t* p = pixel(in, 0, 0) + 3 * in.channel_stride;
    uint8_t* q = const_cast<uint8_t*>(pixel(out, 0, 0)) + 3 * out.channel_stride;
    for (int64_t i = 0; i < count; ++i, p += in.pixel_stride, q += out.pixel_stride) std::memcpy(q, p, size_t(size));
}

// Packed RGBA whose alpha comes from packed RGBA.
inline void encode_rgba(const uint8_t* alpha, uint8_t* p, int64_t count, const float* r, const float* g,
                        const float* b) {
    in_blocks<LANES>(
        count, [&](int64_t i) PIC_UIE_INLINE_LAMBDA { pack_rgba(r + i, g + i, b + i, alpha + 4 * i, p + 4 * i); },
        [&](int64_t i, int64_t left) PIC_UIE_INLINE_LAMBDA {
            uint8_t rest[4 * LANES] = {};
            std::memcpy(rest, alpha + 4 * i, size_t(4 * left));
            pack_rgba(r + i, g + i, b + i, rest, rest);
            std::memcpy(p + 4 * i, rest, size_t(4 * left));
        });
}

// Floats in [0, 1] to the first pixels of `out`, rounded half up; alpha as `in` has it. Reads up to 15 floats beyond the
// count.
inline void encode(const Image& in, const Image& out, int64_t count, const float* r, const float* g, const float* b) {
    uint8_t* p = const_cast<uint8_t*>(pixel(out, 0, 0));
    switch (layout_of(out)) {
        case Layout::rgb8:
            return encode_packed<16, 3>(p, count, [&](int64_t i, uint8_t* to) PIC_UIE_INLINE_LAMBDA {
                pack_rgb<uint8_t>(r + i, g + i, b + i, to);
            });
        case Layout::rgb16:
            return encode_packed<8, 6>(p, count, [&](int64_t i, uint8_t* to) PIC_UIE_INLINE_LAMBDA {
                pack_rgb<uint16_t>(r + i, g + i, b + i, to);
            });
        case Layout::rgba8:
            if (layout_of(in) == Layout::rgba8) return encode_rgba(pixel(in, 0, 0), p, count, r, g, b);
            break;
        case Layout::strided: break;
    }
    switch (depth_of(out)) {
        case Depth::u8: encode_strided<Depth::u8>(out, p, count, r, g, b); break;
        case Depth::u16: encode_strided<Depth::u16>(out, p, count, r, g, b); break;
        case Depth::f32: encode_strided<Depth::f32>(out, p, count, r, g, b); break;
    }
    if (out.channels == 4) copy_alpha(in, out, count);
}

}  // namespace
}  // namespace PIC_UIE_ISA
