// One strip of one tile through Eqs. 2 and 3: rows are prepared, refined in blocks of row pairs, and finished, by what the
// kind of picture brings.
#pragma once

#include "refiner.h"
#include "tile.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Refiner;

// Hidden rows are zero outside the picture: above and below, left and right.
template <class V>
inline void clear_outside(Pair<V> rows, int64_t y, int64_t height, int count, const int* outside, int outside_count) {
    for (int i = 0; i < 2; ++i) {
        V* row = i ? rows.lower : rows.upper;
        if (y + i < 0 || y + i >= height)
            for (int j = 0; j < count; ++j) row[j] = V{};
        for (int j = 0; j < outside_count; ++j) reinterpret_cast<Element<V>*>(row)[outside[j]] = Element<V>(0);
    }
}

// What the channels are added to: Γ in floats, where it comes last in fixed point.
PIC_UIE_INLINE vf before_channels(vf toned, const Refiner& refiner) { return toned + refiner.project_bias; }
PIC_UIE_INLINE vh before_channels(vh, const FixedRefiner& refiner) { return splat(refiner.project_bias); }
inline const Refiner& refiner_of(const pic_uie::Prepared& prepared, vf) { return prepared.refiner; }
inline const FixedRefiner& refiner_of(const pic_uie::Prepared& prepared, vh) { return prepared.fixed; }

// One block of row pairs through the refiner. Pair i of a layer needs pairs i and i + 1 of the layer before, so in block
// k the first layer makes pairs [kB, kB + B), the second lags by one pair, the third by two.
template <class V>
inline void refine_block(const Pass& pass, Tile<V>& tile, int64_t block, int64_t pairs) {
    const auto& refiner = refiner_of(*pass.prepared, V{});
    const int64_t start = block * BLOCK, height = pass.geometry.height;
    const int parity = int(block & 1), segment = tile.segment;
    auto at_least_0 = [](int64_t i) { return i < 0 ? 0 : i; };
    auto at_most = [](int64_t i, int64_t limit) { return i < limit ? i : limit; };

    auto each_refined = [&](auto step) PIC_UIE_INLINE_LAMBDA {  // step(Γ, what is refined) for every vector
        for (int64_t i = at_least_0(start - 2); i < at_most(start + BLOCK - 2, pairs); ++i) {
            const Pair<V> out = tile.refined[i - (start - 2)];
            const V *upper = tile.toned_pair(i + 1).lower + HALO, *lower = tile.toned_pair(i + 2).upper + HALO;
            for (int j = 0; j < segment; ++j) step(upper[j], out.upper[j]), step(lower[j], out.lower[j]);
        }
    };
    each_refined([&](V toned, V& out) PIC_UIE_INLINE_LAMBDA { out = before_channels(toned, refiner); });
    for (int c = 0; c < refiner.channels; ++c) {
        auto expanded = [&](int64_t i) {
            if (i == start + BLOCK - 1) return tile.carried_expanded[c].pair[parity];
            return i < start ? tile.carried_expanded[c].pair[parity ^ 1] : tile.expanded[i - start];
        };
        auto deepened = [&](int64_t i) {
            if (i == start + BLOCK - 2) return tile.carried_deepened[c].pair[parity];
            return i < start - 1 ? tile.carried_deepened[c].pair[parity ^ 1] : tile.deepened[i - (start - 1)];
        };
        for (int64_t i = start; i < at_most(start + BLOCK, pairs + 2); ++i) {
            convolve<Then::rectify>(tile.toned_pair(i), tile.toned_pair(i + 1), refiner.expand[c], expanded(i),
                                    segment + 4);
            clear_outside(expanded(i), tile.y - 2 + 2 * i, height, segment + 4, tile.expanded_outside,
                          tile.expanded_outside_count);
        }
        for (int64_t i = at_least_0(start - 1); i < at_most(start + BLOCK - 1, pairs + 1); ++i) {
            convolve<Then::rectify>(expanded(i), expanded(i + 1), refiner.depthwise[c], deepened(i), segment + 2);
            clear_outside(deepened(i), tile.y - 1 + 2 * i, height, segment + 2, tile.deepened_outside,
                          tile.deepened_outside_count);
        }
        for (int64_t i = at_least_0(start - 2); i < at_most(start + BLOCK - 2, pairs); ++i)
            convolve<Then::add>(deepened(i), deepened(i + 1), refiner.project[c], tile.refined[i - (start - 2)],
                                segment);
    }
    if constexpr (std::is_same_v<V, vh>)
        each_refined([&](V toned, V& out)
                         PIC_UIE_INLINE_LAMBDA { out = add_refinement(toned, out, splat(refiner.shrink)); });
}

// Calls prepare(tile, y, toned) for every row of the strip with its halo, where `toned` gets Γ(Y¹) in segment order, and
// then finish(tile, y, refined) for every row of the strip, where `refined` is Γ(Y¹) + F(Γ(Y¹)) in segment order.
template <class V, class Prepare, class Finish>
PIC_UIE_INLINE void walk_strip(const Pass& pass, Tile<V>& tile, Prepare prepare, Finish finish) {
    const int64_t pairs = (tile.height + 1) / 2;
    int64_t prepared = 0;  // pair i of Γ(Y¹) is rows y - HALO + 2i and the next
    for (int64_t block = 0; block * BLOCK < pairs + 2; ++block) {
        const int64_t start = block * BLOCK;
        for (; prepared <= start + BLOCK && prepared < pairs + 3; ++prepared) {
            const Pair<V> toned = tile.toned_pair(prepared);
            prepare(tile, tile.y - HALO + 2 * prepared, toned.upper);
            prepare(tile, tile.y - HALO + 2 * prepared + 1, toned.lower);
        }
        refine_block(pass, tile, block, pairs);
        for (int64_t i = start < 2 ? 0 : start - 2; i < start + BLOCK - 2 && i < pairs; ++i) {
            const Pair<V> refined = tile.refined[i - (start - 2)];
            finish(tile, tile.y + 2 * i, refined.upper);
            if (2 * i + 1 < tile.height) finish(tile, tile.y + 2 * i + 1, refined.lower);
        }
    }
}

}  // namespace
}  // namespace PIC_UIE_ISA
