// Rows of pixels in any depth, channel count and stride to three rows of floats in [0, 1], and back.
#pragma once

#include <cstddef>

#include "pic_uie.h"
#include "vector.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Depth;
using pic_uie::Image;

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes16_unaligned __attribute__((vector_size(16), aligned(1), may_alias));

PIC_UIE_INLINE bytes16 load_bytes(const uint8_t* p) { return *reinterpret_cast<const bytes16_unaligned*>(p); }
PIC_UIE_INLINE void store_bytes(uint8_t* p, bytes16 v) { *reinterpret_cast<bytes16_unaligned*>(p) = v; }

PIC_UIE_INLINE const uint8_t* pixel(const Image& image, int64_t y, int64_t x) {
    return static_cast<const uint8_t*>(image.data) + y * image.row_stride + x * image.pixel_stride;
}
PIC_UIE_INLINE bool packed_rgb8(const Image& image) {
    return image.depth == Depth::u8 && image.channels == 3 && image.channel_stride == 1 && image.pixel_stride == 3;
}

// Packed RGB: byte 3i + c of 48 holds sample c of pixel i. Since 3 and 16 share no factor, the 16 samples of a colour sit
// at 16 different places modulo 16: one merge of the three vectors collects them, one shuffle sorts them.
struct Packing {
    bytes16 place[3];     // [colour]: where pixel i is after the merge
    bytes16 pixel[3];     // [colour]: which pixel is at a place
    bytes16 mask[3][3];   // [colour][vector]: 255 at the places that the vector contributes
};
constexpr Packing PACKING = {
    {{0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13},
     {1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14},
     {2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15}},
    {{0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5},
     {5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10},
     {10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15}},
    {{{255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255},
      {0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0},
      {0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0}},
     {{0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0},
      {255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255},
      {0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0}},
     {{0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0},
      {0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0},
      {255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255}}}};

// 16 bytes to 16 floats in [0, 1], and back rounded half up. Short vectors want it spelt: bytes are widened by zipping
// them with zeros, twice.
#if PIC_UIE_LANES == 16
PIC_UIE_INLINE void widen(bytes16 bytes, float* out) {
    uint8_t plain[16];
    store_bytes(plain, bytes);
    for (int i = 0; i < 16; ++i) out[i] = float(int32_t(plain[i])) * (1.0f / 255.0f);
}
PIC_UIE_INLINE bytes16 narrow(const float* x) {
    uint8_t plain[16];
    for (int i = 0; i < 16; ++i) plain[i] = uint8_t(int32_t(x[i] * 255.0f + 0.5f));
    return load_bytes(plain);
}
#else
typedef uint16_t shorts8 __attribute__((vector_size(16)));
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef float floats4 __attribute__((vector_size(16)));
typedef float floats4_unaligned __attribute__((vector_size(16), aligned(4), may_alias));

PIC_UIE_INLINE void widen(bytes16 bytes, float* out) {
    const bytes16 low = __builtin_shuffle(bytes, bytes16{}, bytes16{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23});
    const bytes16 high =
        __builtin_shuffle(bytes, bytes16{}, bytes16{8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31});
    const shorts8 halves[2] = {shorts8(low), shorts8(high)};
    for (int i = 0; i < 2; ++i) {
        const ints4 first = ints4(__builtin_shuffle(halves[i], shorts8{}, shorts8{0, 8, 1, 9, 2, 10, 3, 11}));
        const ints4 second = ints4(__builtin_shuffle(halves[i], shorts8{}, shorts8{4, 12, 5, 13, 6, 14, 7, 15}));
        floats4_unaligned* to = reinterpret_cast<floats4_unaligned*>(out + 8 * i);
        to[0] = __builtin_convertvector(first, floats4) * (1.0f / 255.0f);
        to[1] = __builtin_convertvector(second, floats4) * (1.0f / 255.0f);
    }
}
PIC_UIE_INLINE bytes16 narrow(const float* x) {
    const floats4_unaligned* from = reinterpret_cast<const floats4_unaligned*>(x);
    bytes16 part[4];
    for (int i = 0; i < 4; ++i)
        part[i] = bytes16(__builtin_convertvector(floats4(from[i]) * 255.0f + 0.5f, ints4));
    constexpr bytes16 low_bytes = {0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28};
    const bytes16 first = __builtin_shuffle(part[0], part[1], low_bytes);
    const bytes16 second = __builtin_shuffle(part[2], part[3], low_bytes);
    return __builtin_shuffle(first, second, bytes16{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23});
}
#endif

PIC_UIE_INLINE void decode_16(const uint8_t* p, float* const rgb[3], int64_t at) {
    const bytes16 in[3] = {load_bytes(p), load_bytes(p + 16), load_bytes(p + 32)};
    for (int c = 0; c < 3; ++c) {
        const bytes16* mask = PACKING.mask[c];
        widen(__builtin_shuffle((in[0] & mask[0]) | (in[1] & mask[1]) | (in[2] & mask[2]), PACKING.place[c]), rgb[c] + at);
    }
}

PIC_UIE_INLINE float read_sample(const uint8_t* p, Depth depth) {
    if (depth == Depth::u8) return float(int32_t(*p)) * (1.0f / 255.0f);
    if (depth == Depth::u16) {
        uint16_t s;
        __builtin_memcpy(&s, p, 2);
        return float(int32_t(s)) * (1.0f / 65535.0f);
    }
    float s;
    __builtin_memcpy(&s, p, 4);
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

// Pixels [x, x + count) of row y. Writes up to 15 floats beyond the count.
inline void decode(const Image& image, int64_t y, int64_t x, int64_t count, float* r, float* g, float* b) {
    const uint8_t* p = pixel(image, y, x);
    if (!packed_rgb8(image)) {
        if (image.depth == Depth::u8) return decode_strided<Depth::u8>(image, p, count, r, g, b);
        if (image.depth == Depth::u16) return decode_strided<Depth::u16>(image, p, count, r, g, b);
        return decode_strided<Depth::f32>(image, p, count, r, g, b);
    }
    float* const rgb[3] = {r, g, b};
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) decode_16(p + 3 * i, rgb, i);
    if (i < count) {
        uint8_t rest[48] = {};
        __builtin_memcpy(rest, p + 3 * i, size_t(3 * (count - i)));
        decode_16(rest, rgb, i);
    }
}

PIC_UIE_INLINE void encode_16(const float* const rgb[3], int64_t at, uint8_t* p) {
    bytes16 sorted[3];
    for (int c = 0; c < 3; ++c) sorted[c] = __builtin_shuffle(narrow(rgb[c] + at), PACKING.pixel[c]);
    for (int v = 0; v < 3; ++v)
        store_bytes(p + 16 * v, (sorted[0] & PACKING.mask[0][v]) | (sorted[1] & PACKING.mask[1][v]) |
                                    (sorted[2] & PACKING.mask[2][v]));
}

PIC_UIE_INLINE void write_sample(uint8_t* p, float x, Depth depth) {
    if (depth == Depth::u8) {
        *p = uint8_t(int32_t(x * 255.0f + 0.5f));
    } else if (depth == Depth::u16) {
        uint16_t s = uint16_t(int32_t(x * 65535.0f + 0.5f));
        __builtin_memcpy(p, &s, 2);
    } else {
        __builtin_memcpy(p, &x, 4);
    }
}

template <Depth DEPTH>
inline void encode_strided(const Image& out, uint8_t* p, int64_t count, const float* r, const float* g, const float* b) {
    for (int64_t i = 0; i < count; ++i, p += out.pixel_stride) {
        write_sample(p, r[i], DEPTH);
        if (out.channels == 1) continue;  // the caller put the luma in r
        write_sample(p + out.channel_stride, g[i], DEPTH);
        write_sample(p + 2 * out.channel_stride, b[i], DEPTH);
    }
}

// Floats in [0, 1] to pixels [x, x + count) of row y, rounded half up. Reads up to 15 floats beyond the count.
inline void encode(const Image& out, int64_t y, int64_t x, int64_t count, const float* r, const float* g,
                   const float* b) {
    uint8_t* p = const_cast<uint8_t*>(pixel(out, y, x));
    if (!packed_rgb8(out)) {
        if (out.depth == Depth::u8) return encode_strided<Depth::u8>(out, p, count, r, g, b);
        if (out.depth == Depth::u16) return encode_strided<Depth::u16>(out, p, count, r, g, b);
        return encode_strided<Depth::f32>(out, p, count, r, g, b);
    }
    const float* const rgb[3] = {r, g, b};
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) encode_16(rgb, i, p + 3 * i);
    if (i < count) {
        uint8_t rest[48];
        encode_16(rgb, i, rest);
        __builtin_memcpy(p + 3 * i, rest, size_t(3 * (count - i)));
    }
}

// The fourth channel passes through untouched.
inline void copy_alpha(const Image& in, const Image& out, int64_t y, int64_t x, int64_t count) {
    const int64_t size = in.depth == Depth::u8 ? 1 : in.depth == Depth::u16 ? 2 : 4;
    const uint8_t* p = pixel(in, y, x) + 3 * in.channel_stride;
    uint8_t* q = const_cast<uint8_t*>(pixel(out, y, x)) + 3 * out.channel_stride;
    for (int64_t i = 0; i < count; ++i, p += in.pixel_stride, q += out.pixel_stride)
        __builtin_memcpy(q, p, size_t(size));
}

}  // namespace
}  // namespace PIC_UIE_ISA
