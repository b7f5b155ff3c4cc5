// t, v, a at the picture's size: bilinear, half-pixel centres, clamped at the edges.
#pragma once

#include "base/bilinear.h"
#include "base/vector.h"
#include "kernel.h"

namespace PIC_UIE_ISA {
namespace {

// The three fields along one row of a tile. Both source rows are stretched along x once and kept while rows of the
// picture fall between them; a pixel then costs one multiply-add per field.
struct FieldRows {
    int64_t count;           // pixels, from `first` on
    int32_t *left, *right;   // [count]
    float* fraction;         // [count]
    float* stretched[2][3];  // [which source row][t, v, a][count]
    float* difference[3];    // stretched[1] - stretched[0]
    int64_t held[2];         // source rows now in `stretched`
    float weight;            // of the second

    static int64_t floats(int64_t count) { return 12 * round_up(count); }
    static int64_t round_up(int64_t n) { return (n + 31) / 16 * 16; }

    // Carves its buffers from `memory`; pixels x = first .. first + count.
    float* start(float* memory, const pic_uie::Prepared& prepared, int64_t first, int64_t pixels, int64_t width) {
        count = pixels;
        const int64_t row = round_up(count);
        left = reinterpret_cast<int32_t*>(memory);
        right = left + row;
        fraction = memory + 2 * row;
        for (int i = 0; i < 3; ++i) {
            stretched[0][i] = memory + (3 + i) * row;
            stretched[1][i] = memory + (6 + i) * row;
            difference[i] = memory + (9 + i) * row;
        }
        held[0] = held[1] = -1;
        for (int64_t i = 0; i < count; ++i) {
            const auto x = pic_uie::between<double>(first + i, prepared.field_width, width);
            left[i] = int32_t(x.left), right[i] = int32_t(x.right), fraction[i] = float(x.fraction);
        }
        return memory + floats(count);
    }

    void move_to(const pic_uie::Prepared& prepared, int64_t y, int64_t height) {
        const auto rows = pic_uie::between<double>(y, prepared.field_height, height);
        weight = float(rows.fraction);
        if (held[0] == rows.left && held[1] == rows.right) return;
        if (held[1] == rows.left) {
            for (int i = 0; i < 3; ++i) {
                float* reused = stretched[0][i];
                stretched[0][i] = stretched[1][i], stretched[1][i] = reused;
            }
        } else {
            stretch_row(prepared, rows.left, 0);
        }
        stretch_row(prepared, rows.right, 1);
        held[0] = rows.left, held[1] = rows.right;
        for (int i = 0; i < 3; ++i)
            for (int64_t x = 0; x < count; x += LANES)
                store(difference[i] + x, load(stretched[1][i] + x) - load(stretched[0][i] + x));
    }

    void stretch_row(const pic_uie::Prepared& prepared, int64_t row, int which) {
        for (int i = 0; i < 3; ++i) {
            const float* source = prepared.fields[i] + row * prepared.field_width;
            float* target = stretched[which][i];
            for (int64_t x = 0; x < count; ++x)
                target[x] = source[left[x]] + fraction[x] * (source[right[x]] - source[left[x]]);
        }
    }

    PIC_UIE_INLINE vf at(int field, int64_t x) const {
        return load(stretched[0][field] + x) + weight * load(difference[field] + x);
    }
};

}  // namespace
}  // namespace PIC_UIE_ISA
