// The layouts that cameras and canvases have, packed RGB of 8 and 16 bits and packed RGBA of 8, as whole vectors.
#pragma once

#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

template <class Sample>
using Packed = Vector<Sample, 16>;
template <class Sample>
inline constexpr int PACKED = 16 / int(sizeof(Sample));  // samples in 16 bytes
template <class Sample>
using EachSample = std::make_integer_sequence<int, PACKED<Sample>>;
template <class Sample>
inline constexpr float MAXIMUM = sizeof(Sample) == 1 ? 255.0f : 65535.0f;

// Packed RGB: sample 3i + c of 3N holds colour c of pixel i. Since 3 and N share no factor, the N samples of a colour sit
// at N different places modulo N: one merge of the three vectors collects them, one shuffle sorts them.
template <class Sample, int COLOUR, int VECTOR, int... I>
PIC_UIE_INLINE Packed<Sample> mask(std::integer_sequence<int, I...>) {  // the places that VECTOR contributes
    return Packed<Sample>{((VECTOR * int(sizeof...(I)) + I) % 3 == COLOUR ? Sample(-1) : Sample(0))...};
}
template <class Sample, int COLOUR, int... I>
PIC_UIE_INLINE Packed<Sample> sort(Packed<Sample> merged, std::integer_sequence<int, I...>) {
    return shuffle<((3 * I + COLOUR) % int(sizeof...(I)))...>(merged, merged);
}
template <class Sample, int COLOUR, int... I>
PIC_UIE_INLINE Packed<Sample> unsort(Packed<Sample> pixels, std::integer_sequence<int, I...>) {
    constexpr int n = sizeof...(I), third = n == 16 ? 11 : 3;  // the inverse of 3 modulo n
    return shuffle<((I + n - COLOUR) * third % n)...>(pixels, pixels);
}

// 16 bytes of samples to floats in [0, 1], and back rounded half up. Short vectors want it spelt: samples are widened by
// zipping them with zeros.
#if PIC_UIE_LANES == 16
template <class Sample>
PIC_UIE_INLINE void widen(Packed<Sample> samples, float* out) {
    Sample plain[PACKED<Sample>];
    store_as(plain, samples);
    for (int i = 0; i < PACKED<Sample>; ++i) out[i] = float(int32_t(plain[i])) * (1.0f / MAXIMUM<Sample>);
}
template <class Sample>
PIC_UIE_INLINE Packed<Sample> narrow(const float* x) {
    Sample plain[PACKED<Sample>];
    for (int i = 0; i < PACKED<Sample>; ++i) plain[i] = Sample(int32_t(x[i] * MAXIMUM<Sample> + 0.5f));
    return load_as<Packed<Sample>>(plain);
}
#else
typedef int32_t ints4 __attribute__((vector_size(16)));
typedef float floats4 __attribute__((vector_size(16)));

PIC_UIE_INLINE void widen_shorts(Packed<uint16_t> shorts, float unit, float* out) {
    const EachSample<uint16_t> each;
    const ints4 low = ints4(zip_low(shorts, Packed<uint16_t>{}, each)),
                high = ints4(zip_high(shorts, Packed<uint16_t>{}, each));
    store_as(out, __builtin_convertvector(low, floats4) * unit);
    store_as(out + 4, __builtin_convertvector(high, floats4) * unit);
}
template <class Sample>
PIC_UIE_INLINE void widen(Packed<Sample> samples, float* out) {
    if constexpr (sizeof(Sample) == 2) {
        widen_shorts(samples, 1.0f / MAXIMUM<Sample>, out);
    } else {
        const EachSample<Sample> each;
        widen_shorts(Packed<uint16_t>(zip_low(samples, Packed<Sample>{}, each)), 1.0f / MAXIMUM<Sample>, out);
        widen_shorts(Packed<uint16_t>(zip_high(samples, Packed<Sample>{}, each)), 1.0f / MAXIMUM<Sample>, out + 8);
    }
}

// The low halves of two vectors of twice the width.
template <class Half, class V, int... I>
PIC_UIE_INLINE Packed<Half> halve(V a, V b, std::integer_sequence<int, I...>) {
    return shuffle<2 * I...>(Packed<Half>(a), Packed<Half>(b));
}
PIC_UIE_INLINE Packed<uint16_t> narrow_shorts(const float* x, float maximum) {
    const ints4 low = __builtin_convertvector(load_as<floats4>(x) * maximum + 0.5f, ints4);
    const ints4 high = __builtin_convertvector(load_as<floats4>(x + 4) * maximum + 0.5f, ints4);
    return halve<uint16_t>(low, high, EachSample<uint16_t>{});
}
template <class Sample>
PIC_UIE_INLINE Packed<Sample> narrow(const float* x) {
    if constexpr (sizeof(Sample) == 2)
        return narrow_shorts(x, MAXIMUM<Sample>);
    else
        return halve<Sample>(narrow_shorts(x, MAXIMUM<Sample>), narrow_shorts(x + 8, MAXIMUM<Sample>),
                             EachSample<Sample>{});
}
#endif

// N pixels of packed RGB to N floats of each colour, and back.
template <class Sample>
PIC_UIE_INLINE void unpack_rgb(const uint8_t* p, float* r, float* g, float* b) {
    using V = Packed<Sample>;
    const EachSample<Sample> each;
    const V in[3] = {load_as<V>(p), load_as<V>(p + 16), load_as<V>(p + 32)};
    auto colour = [&]<int C>(std::integral_constant<int, C>) PIC_UIE_INLINE_LAMBDA {
        return sort<Sample, C>((in[0] & mask<Sample, C, 0>(each)) | (in[1] & mask<Sample, C, 1>(each)) |
                                   (in[2] & mask<Sample, C, 2>(each)),
                               each);
    };
    widen<Sample>(colour(std::integral_constant<int, 0>{}), r);
    widen<Sample>(colour(std::integral_constant<int, 1>{}), g);
    widen<Sample>(colour(std::integral_constant<int, 2>{}), b);
}
template <class Sample>
PIC_UIE_INLINE void pack_rgb(const float* r, const float* g, const float* b, uint8_t* p) {
    using V = Packed<Sample>;
    const EachSample<Sample> each;
    const V red = unsort<Sample, 0>(narrow<Sample>(r), each), green = unsort<Sample, 1>(narrow<Sample>(g), each),
            blue = unsort<Sample, 2>(narrow<Sample>(b), each);
    auto part = [&]<int VECTOR>(std::integral_constant<int, VECTOR>) PIC_UIE_INLINE_LAMBDA {
        return V((red & mask<Sample, 0, VECTOR>(each)) | (green & mask<Sample, 1, VECTOR>(each)) |
                 (blue & mask<Sample, 2, VECTOR>(each)));
    };
    store_as(p, part(std::integral_constant<int, 0>{}));
    store_as(p + 16, part(std::integral_constant<int, 1>{}));
    store_as(p + 32, part(std::integral_constant<int, 2>{}));
}

// LANES pixels of packed RGBA, each one little-endian integer; `alpha` points to pixels whose fourth byte is taken over.
PIC_UIE_INLINE void unpack_rgba(const uint8_t* p, float* r, float* g, float* b) {
    const vi pixels = load_as<vi>(p);
    store(r, to_float(pixels & 255) * (1.0f / 255.0f));
    store(g, to_float((pixels >> 8) & 255) * (1.0f / 255.0f));
    store(b, to_float((pixels >> 16) & 255) * (1.0f / 255.0f));
}
PIC_UIE_INLINE void pack_rgba(const float* r, const float* g, const float* b, const uint8_t* alpha, uint8_t* p) {
    auto level = [](const float* x) PIC_UIE_INLINE_LAMBDA { return truncate(load(x) * 255.0f + 0.5f); };
    const vi opacity = load_as<vi>(alpha) & int32_t(0xff000000u);
    store_as(p, vi(level(r) | (level(g) << 8) | (level(b) << 16) | opacity));
}

}  // namespace
}  // namespace PIC_UIE_ISA
