// One unit of work: a tile of columns in a strip of rows, with the scratch memory it needs.
#pragma once

#include "fields.h"
#include "fixed.h"
#include "kernel.h"
#include "refiner.h"
#include "base/vector.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Geometry;
using pic_uie::Pass;

constexpr int HALO = pic_uie::constants::HALO;
constexpr int CHANNELS = pic_uie::constants::REFINER_WIDTH;
constexpr int BLOCK = 4;  // row pairs that every channel of the refiner makes before the next channel's turn

// Pairs of rows that one channel hands from block to block: the last pair of a block is the first input of the next.
template <class V>
struct Carried {
    Pair<V> pair[2];  // by the block's parity
};

// Rows of the refiner are of V; what comes before it is of floats.
template <class V>
struct Tile {
    int64_t x, y, width, height;  // pixels of this unit that exist
    int segment;
    float *r, *g, *b;     // natural order, from x - HALO on
    Element<V>* natural;  // one row of luminance, natural order, from x - HALO on
    FieldRows fields;

    Pair<V> toned[BLOCK + 2];                  // Γ(Y¹) by pair index modulo BLOCK + 2; segment + 6 vectors a row
    Pair<V> expanded[BLOCK], deepened[BLOCK];  // hidden rows of the channel at work; segment + 4, + 2 vectors
    Carried<V> carried_expanded[CHANNELS], carried_deepened[CHANNELS];
    Pair<V> refined[BLOCK];  // Γ(Y¹) + F(Γ(Y¹)); segment vectors

    // Lanes of hidden rows that lie just outside the picture on the left and right: convolutions see zeros there.
    int expanded_outside[4 * lanes<V>], deepened_outside[4 * lanes<V>];
    int expanded_outside_count, deepened_outside_count;

    static int64_t row_vectors(int segment) { return (segment + 2 * HALO + LANES - 1) / LANES * LANES; }
    static int64_t natural_floats(const Geometry& geometry) {
        return (geometry.tile_width + 2 * HALO + 5 * 16) / 16 * 16;
    }

    static int64_t scratch_floats(const Geometry& geometry) {
        const int64_t rows = 2 * (3 * BLOCK + BLOCK + 2 + 4 * CHANNELS);
        return rows * row_vectors(geometry.segment) * LANES + 4 * natural_floats(geometry) +
               FieldRows::floats(geometry.tile_width + 2 * HALO);
    }

    Tile(const Pass& pass, int64_t unit, float* scratch) {
        const Geometry& geometry = pass.geometry;
        segment = geometry.segment;
        x = geometry.left + unit % geometry.tiles * geometry.tile_width;
        y = geometry.top + unit / geometry.tiles * geometry.strip_height;
        width = x + geometry.tile_width < geometry.right ? geometry.tile_width : geometry.right - x;
        height = y + geometry.strip_height < geometry.bottom ? geometry.strip_height : geometry.bottom - y;

        auto row = [&]() PIC_UIE_INLINE_LAMBDA {
            float* start = scratch;
            scratch += row_vectors(segment) * LANES;
            return reinterpret_cast<V*>(start);
        };
        auto pair = [&]() PIC_UIE_INLINE_LAMBDA {
            V* upper = row();
            return Pair<V>{upper, row()};
        };
        for (Pair<V>& p : toned) p = pair();
        for (int i = 0; i < BLOCK; ++i) expanded[i] = pair(), deepened[i] = pair(), refined[i] = pair();
        for (int c = 0; c < CHANNELS; ++c)
            for (int parity = 0; parity < 2; ++parity)
                carried_expanded[c].pair[parity] = pair(), carried_deepened[c].pair[parity] = pair();
        float* last;
        float** const natural_rows[] = {&r, &g, &b, &last};
        for (float** rows : natural_rows) {
            *rows = scratch;
            scratch += natural_floats(geometry);
        }
        natural = reinterpret_cast<Element<V>*>(last);
        fields.start(scratch, *pass.prepared, x - HALO, geometry.tile_width + 2 * HALO, geometry.width);
        expanded_outside_count = find_outside(geometry.width, 2, expanded_outside);
        deepened_outside_count = find_outside(geometry.width, 1, deepened_outside);
    }

    // Indices, in floats, of pixels -1 and `picture_width` in a row with `halo` vectors before the tile.
    int find_outside(int64_t picture_width, int halo, int* outside) const {
        int count = 0;
        const int64_t beside[] = {-1, picture_width};
        for (int64_t pixel : beside)
            for (int i = 0; i < lanes<V>; ++i) {
                int64_t j = pixel - x - int64_t(i) * segment + halo;
                if (j >= 0 && j < segment + 2 * halo) outside[count++] = int(j * lanes<V> + place_of_segment(i, V{}));
            }
        return count;
    }

    PIC_UIE_INLINE Pair<V>& toned_pair(int64_t index) { return toned[index % (BLOCK + 2)]; }
};

}  // namespace
}  // namespace PIC_UIE_ISA
