// Chroma: the coupled table U and the transmission gate g of Eq. 3.
#pragma once

#include "constants.h"
#include "kernel.h"
#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

struct Chroma {
    vf cb, cr;
};

// The eight coefficients of each lane's cell: by shuffles where a coefficient of all 64 cells fits four vectors, else by
// loading each lane's record and turning lanes into coefficients.
PIC_UIE_INLINE void find_coefficients(vi cell, const pic_uie::Prepared& prepared, vf c[8]) {
#if PIC_UIE_LANES == 16
    for (int i = 0; i < 8; ++i) c[i] = lookup<64>(prepared.coefficients[i], cell);
#else
    for (int part = 0; part < 8; part += LANES) {
        for (int l = 0; l < LANES; ++l) c[part + l] = load(prepared.cells[cell[l]] + part);
        transpose(c + part);
    }
#endif
}

// U(q), bilinear, corner samples at ±0.5, clamped at the border. SMALL: at most 8x8 cells (a 9x9 table), each kept as
// the polynomials c0 + c1·x + c2·y + c3·x·y of Cb' and Cr'.
template <bool SMALL>
PIC_UIE_INLINE Chroma map_chroma(vf cb, vf cr, const pic_uie::Prepared& prepared) {
    constexpr float limit = float(pic_uie::constants::CHROMA_LIMIT);
    const float cells = float(prepared.grid - 1);
    const vi last = splat(prepared.grid - 2);
    vf x = clip01((cb + limit) * (0.5f / limit)) * cells;
    vf y = clip01((cr + limit) * (0.5f / limit)) * cells;
    vi column = max(min(truncate(x), last), vi{}), row = max(min(truncate(y), last), vi{});
    x -= to_float(column);
    y -= to_float(row);
    if constexpr (SMALL) {
        vf c[8];
        find_coefficients(row * (prepared.grid - 1) + column, prepared, c);
        return {(c[0] + x * c[1]) + y * (c[2] + x * c[3]), (c[4] + x * c[5]) + y * (c[6] + x * c[7])};
    } else {
        vi corner = row * prepared.grid + column;
        auto bilinear = [&](const float* table) PIC_UIE_INLINE_LAMBDA {
            vf top = gather(table, corner), bottom = gather(table + prepared.grid, corner);
            top += x * (gather(table + 1, corner) - top);
            bottom += x * (gather(table + prepared.grid + 1, corner) - bottom);
            return limit * (top + y * (bottom - top));
        };
        return {bilinear(prepared.lut), bilinear(prepared.lut + int64_t(prepared.grid) * prepared.grid)};
    }
}

// q¹ = q + g·(U(q) - q), g = clip₀₁(β + γ(1-t)), Eq. 3.
template <bool SMALL>
PIC_UIE_INLINE Chroma correct_chroma(vf cb, vf cr, vf t, const pic_uie::Prepared& prepared) {
    vf gate = clip01(prepared.beta + prepared.gamma * (1.0f - t));
    Chroma mapped = map_chroma<SMALL>(cb, cr, prepared);
    return {cb + gate * (mapped.cb - cb), cr + gate * (mapped.cr - cr)};
}

}  // namespace
}  // namespace PIC_UIE_ISA
