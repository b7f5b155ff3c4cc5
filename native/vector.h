// Vectors as the compiler's own extension gives them: the same source for every instruction set, LANES floats at a time.
// Included only by files that are compiled once per instruction set; everything lives in that set's namespace, so that
// no inline function built for a newer processor can be picked by the linker for an older one.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#define PIC_UIE_LANES 16
#elif defined(__AVX2__)
#define PIC_UIE_LANES 8
#else
#define PIC_UIE_LANES 4
#endif

namespace PIC_UIE_ISA {
namespace {

constexpr int LANES = PIC_UIE_LANES;

typedef float vf __attribute__((vector_size(4 * PIC_UIE_LANES)));
typedef int32_t vi __attribute__((vector_size(4 * PIC_UIE_LANES)));
typedef float vf_unaligned __attribute__((vector_size(4 * PIC_UIE_LANES), aligned(4), may_alias));
typedef int32_t vi_unaligned __attribute__((vector_size(4 * PIC_UIE_LANES), aligned(4), may_alias));

#define PIC_UIE_INLINE inline __attribute__((always_inline))
#define PIC_UIE_INLINE_LAMBDA __attribute__((always_inline))

PIC_UIE_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
PIC_UIE_INLINE vi load(const int32_t* p) { return *reinterpret_cast<const vi_unaligned*>(p); }
PIC_UIE_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
PIC_UIE_INLINE vf splat(float x) { return vf{} + x; }
PIC_UIE_INLINE vi splat(int32_t x) { return vi{} + x; }
PIC_UIE_INLINE vf max(vf a, vf b) { return a > b ? a : b; }
PIC_UIE_INLINE vf min(vf a, vf b) { return a < b ? a : b; }
PIC_UIE_INLINE vi max(vi a, vi b) { return a > b ? a : b; }
PIC_UIE_INLINE vi min(vi a, vi b) { return a < b ? a : b; }
PIC_UIE_INLINE vf clip01(vf x) { return min(max(x, vf{}), splat(1.0f)); }
PIC_UIE_INLINE vi truncate(vf x) { return __builtin_convertvector(x, vi); }
PIC_UIE_INLINE vf to_float(vi x) { return __builtin_convertvector(x, vf); }

#if PIC_UIE_LANES == 16
constexpr vi IOTA = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr vi ZIP_LOW = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
#elif PIC_UIE_LANES == 8
constexpr vi IOTA = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr vi ZIP_LOW = {0, 8, 1, 9, 2, 10, 3, 11};
#else
constexpr vi IOTA = {0, 1, 2, 3};
constexpr vi ZIP_LOW = {0, 4, 1, 5};
#endif
constexpr vi ZIP_HIGH = ZIP_LOW + LANES / 2;

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
    return IOTA < splat(static_cast<int32_t>(count)) ? v : vf{};
}

PIC_UIE_INLINE vf gather(const float* table, vi index) {
    vf v;
    for (int i = 0; i < LANES; ++i) v[i] = table[index[i]];
    return v;
}

// table[index] for a table padded to 32 or 64 floats: shuffles where they beat loads.
template <int SIZE>
PIC_UIE_INLINE vf lookup(const float* table, vi index) {
#if PIC_UIE_LANES == 16
    static_assert(SIZE == 32 || SIZE == 64);
    vf low = __builtin_shuffle(load(table), load(table + 16), index);
    if constexpr (SIZE == 32) return low;
    vf high = __builtin_shuffle(load(table + 32), load(table + 48), index);
    return index < 32 ? low : high;
#else
    return gather(table, index);
#endif
}

// Rows become columns: log2(LANES) perfect shuffles, each of which rotates the bits of (row, lane) by one.
PIC_UIE_INLINE void transpose(vf v[LANES]) {
    for (int step = 1; step < LANES; step *= 2) {
        vf w[LANES];
        for (int i = 0; i < LANES / 2; ++i) {
            w[2 * i] = __builtin_shuffle(v[i], v[i + LANES / 2], ZIP_LOW);
            w[2 * i + 1] = __builtin_shuffle(v[i], v[i + LANES / 2], ZIP_HIGH);
        }
        for (int i = 0; i < LANES; ++i) v[i] = w[i];
    }
}

}  // namespace
}  // namespace PIC_UIE_ISA
