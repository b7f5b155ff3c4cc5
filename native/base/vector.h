// Vectors as the compilers' own extension gives them: one source for every instruction set, LANES floats at a time.
// Included only by files that are compiled once per instruction set; everything lives in that set's namespace, so that
// no inline function built for a newer processor can be picked by the linker for an older one.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>
#endif
#if defined(__AVX512F__)
#define PIC_UIE_LANES 16
#elif defined(__AVX2__)
#define PIC_UIE_LANES 8
#else
#define PIC_UIE_LANES 4
#endif

#define PIC_UIE_INLINE inline __attribute__((always_inline))
#define PIC_UIE_INLINE_LAMBDA __attribute__((always_inline))

namespace PIC_UIE_ISA {
namespace {

template <class T, int BYTES>
struct VectorOf {
    typedef T type __attribute__((vector_size(BYTES)));
};
template <class T, int BYTES>
using Vector = typename VectorOf<T, BYTES>::type;

// A vector from memory that is aligned for its elements only, and back.
template <class V, class T>
PIC_UIE_INLINE V load_as(const T* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
template <class V, class T>
PIC_UIE_INLINE void store_as(T* to, const V& v) {
    __builtin_memcpy(to, &v, sizeof v);
}

// Lane i of the result is element RULE[i] of a followed by b.
template <int... RULE, class V>
PIC_UIE_INLINE V shuffle(V a, V b) {
    return __builtin_shufflevector(a, b, RULE...);
}
template <class V, int... I>
PIC_UIE_INLINE V zip_low(V a, V b, std::integer_sequence<int, I...>) {
    return shuffle<(I % 2 * int(sizeof...(I)) + I / 2)...>(a, b);
}
template <class V, int... I>
PIC_UIE_INLINE V zip_high(V a, V b, std::integer_sequence<int, I...>) {
    return shuffle<(I % 2 * int(sizeof...(I)) + I / 2 + int(sizeof...(I)) / 2)...>(a, b);
}

constexpr int LANES = PIC_UIE_LANES;
using EachLane = std::make_integer_sequence<int, LANES>;

typedef float vf __attribute__((vector_size(4 * PIC_UIE_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * PIC_UIE_LANES)));

PIC_UIE_INLINE vf load(const float* p) { return load_as<vf>(p); }
PIC_UIE_INLINE vi load(const int32_t* p) { return load_as<vi>(p); }
PIC_UIE_INLINE void store(float* p, vf v) { store_as(p, v); }
PIC_UIE_INLINE vf splat(float x) { return vf{} + x; }
PIC_UIE_INLINE vi splat(int32_t x) { return vi{} + x; }
#if defined(__wasm_simd128__)  // clang does not find these in a comparison and a choice
PIC_UIE_INLINE vf max(vf a, vf b) { return __builtin_wasm_pmax_f32x4(b, a); }
PIC_UIE_INLINE vf min(vf a, vf b) { return __builtin_wasm_pmin_f32x4(b, a); }
#else
PIC_UIE_INLINE vf max(vf a, vf b) { return a > b ? a : b; }
PIC_UIE_INLINE vf min(vf a, vf b) { return a < b ? a : b; }
#endif
PIC_UIE_INLINE vi max(vi a, vi b) { return a > b ? a : b; }
PIC_UIE_INLINE vi min(vi a, vi b) { return a < b ? a : b; }
PIC_UIE_INLINE vf clip01(vf x) { return min(max(x, vf{}), splat(1.0f)); }
PIC_UIE_INLINE vi truncate(vf x) { return __builtin_convertvector(x, vi); }
PIC_UIE_INLINE vf to_float(vi x) { return __builtin_convertvector(x, vf); }

template <int... I>
PIC_UIE_INLINE vi iota(std::integer_sequence<int, I...>) {
    return vi{I...};
}

// Fixed point: twice the lanes, 16 bits each. Signed by meaning and unsigned by type, so that sums may wrap on their way.
typedef uint16_t vh __attribute__((vector_size(4 * PIC_UIE_LANES)));
typedef int16_t vh_signed __attribute__((vector_size(4 * PIC_UIE_LANES)));
typedef uint16_t vh_half __attribute__((vector_size(2 * PIC_UIE_LANES)));

PIC_UIE_INLINE vh splat(int16_t x) { return vh{} + uint16_t(x); }
PIC_UIE_INLINE vh max(vh a, vh b) { return a > b ? a : b; }
PIC_UIE_INLINE vh min(vh a, vh b) { return a < b ? a : b; }
PIC_UIE_INLINE vf rectify(vf x) { return max(x, vf{}); }
PIC_UIE_INLINE vh rectify(vh x) {
    const vh_signed v = vh_signed(x);
    return vh(v > vh_signed{} ? v : vh_signed{});
}
PIC_UIE_INLINE vf multiply(vf a, vf b) { return a * b; }
// a·b / 2¹⁵, rounded half up, for |a|, |b| < 2¹⁵: one instruction wherever there are vectors.
PIC_UIE_INLINE vh multiply(vh a, vh b) {
#if defined(__AVX512BW__)
    return vh(_mm512_mulhrs_epi16(__m512i(a), __m512i(b)));
#elif defined(__AVX2__)
    return vh(_mm256_mulhrs_epi16(__m256i(a), __m256i(b)));
#elif defined(__SSSE3__)
    return vh(_mm_mulhrs_epi16(__m128i(a), __m128i(b)));
#elif defined(__aarch64__) || defined(_M_ARM64)
    return vh(vqrdmulhq_s16(int16x8_t(a), int16x8_t(b)));
#elif defined(__wasm_simd128__)
    return vh(__builtin_wasm_q15mulr_sat_s_i16x8(vh_signed(a), vh_signed(b)));
#else
    vh product;
    for (int i = 0; i < 2 * LANES; ++i)
        product[i] = uint16_t((int32_t(int16_t(a[i])) * int16_t(b[i]) + (1 << 14)) >> 15);
    return product;
#endif
}
PIC_UIE_INLINE vi widen(vh_half x) { return __builtin_convertvector(x, vi); }
PIC_UIE_INLINE vh_half narrow(vi x) { return __builtin_convertvector(x, vh_half); }

// The first `count` lanes only: what lies beyond belongs to another thread, or to nobody.
PIC_UIE_INLINE void store_first(float* p, vf v, int64_t count) {
    if (count >= LANES) return store(p, v);
    for (int64_t i = 0; i < count; ++i) p[i] = v[i];
}
PIC_UIE_INLINE vf load_first(const float* p, int64_t count) {
    if (count >= LANES) return load(p);
    vf v{};
    for (int64_t i = 0; i < count; ++i) v[i] = p[i];
    return v;
}
PIC_UIE_INLINE vf keep_first(vf v, int64_t count) {
    if (count >= LANES) return v;
    return iota(EachLane{}) < splat(int32_t(count)) ? v : vf{};
}

PIC_UIE_INLINE vf gather(const float* table, vi index) {
    vf v;
    for (int i = 0; i < LANES; ++i) v[i] = table[index[i]];
    return v;
}

// table[index] for a table padded to 32 or 64 floats: permutations where they beat loads.
template <int SIZE>
PIC_UIE_INLINE vf lookup(const float* table, vi index) {
#if PIC_UIE_LANES == 16
    static_assert(SIZE == 32 || SIZE == 64);
    const __m512i at = reinterpret_cast<const __m512i&>(index);
    vf low = _mm512_permutex2var_ps(load(table), at, load(table + 16));
    if constexpr (SIZE == 32) return low;
    vf high = _mm512_permutex2var_ps(load(table + 32), at, load(table + 48));
    return index < 32 ? low : high;
#else
    return gather(table, index);
#endif
}

// Rows become columns: log2(LANES) perfect shuffles, each of which rotates the bits of (row, lane) by one.
template <class V>
PIC_UIE_INLINE void transpose(V v[LANES]) {
    for (int step = 1; step < LANES; step *= 2) {
        V w[LANES];
        for (int i = 0; i < LANES / 2; ++i) {
            w[2 * i] = zip_low(v[i], v[i + LANES / 2], EachLane{});
            w[2 * i + 1] = zip_high(v[i], v[i + LANES / 2], EachLane{});
        }
        for (int i = 0; i < LANES; ++i) v[i] = w[i];
    }
}

}  // namespace
}  // namespace PIC_UIE_ISA
