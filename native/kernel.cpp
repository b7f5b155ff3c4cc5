// The executor, fused: an image is swept twice, in units that any thread may take in any order.
//
//   first pass   pixels → Y, q → Y¹ (Eq. 2) → Γ, q¹ (Eq. 3) → refiner (Eq. 3) → z¹ and its sums (Eq. 4)
//   second pass  z¹ → z² (Eq. 4, one affine map by now) → RGB → pixels
//
// Compiled once per instruction set, with PIC_UIE_ISA naming the namespace.
#include "body.h"
#include "chroma.h"
#include "color.h"
#include "pixels.h"
#include "kernel.h"
#include "moments.h"
#include "strip.h"
#include "tone.h"
#include "yuv.h"

namespace PIC_UIE_ISA {
namespace {

using pic_uie::Job;
using pic_uie::Sums;

float* z_at(const Job& job, int64_t y, int64_t x, int channel) {
    return job.z + (3 * (y - job.z_y) + channel) * job.pitch + (x - job.z_x);
}

// Γ(Y¹) of one row of the tile with its halo, zero outside the picture.
template <bool SHORT_TONE>
void tone_row(const Job& job, const Tile<vf>& tile) {
    const FieldRows fields = tile.fields;
    const float *r = tile.r, *g = tile.g, *b = tile.b;
    float* toned = tile.natural;
    const int64_t count = int64_t(LANES) * tile.segment + 2 * HALO;
    for (int64_t i = 0; i < count; i += LANES) {
        vf y = luma(load(r + i), load(g + i), load(b + i));
        vf y1 = correct_luminance(y, fields.at(0, i), fields.at(1, i), fields.at(2, i));
        store(toned + i, apply_tone<SHORT_TONE>(y1, *job.prepared));
    }
    for (int64_t i = 0; i < HALO - tile.x; ++i) toned[i] = 0.0f;
    for (int64_t i = job.geometry.width - tile.x + HALO; i < count; ++i) toned[i] = 0.0f;
}

// q¹ of one row, left where z¹ will be.
template <bool SMALL_LUT>
void chroma_row(const Job& job, const Tile<vf>& tile, int64_t y) {
    const FieldRows fields = tile.fields;
    const float *red = tile.r + HALO, *green = tile.g + HALO, *blue = tile.b + HALO;
    float *z_cb = z_at(job, y, tile.x, 1), *z_cr = z_at(job, y, tile.x, 2);
    for (int64_t x = 0; x < tile.width; x += LANES) {
        vf r = load(red + x), b = load(blue + x), luminance = luma(r, load(green + x), b);
        Chroma q1 =
            correct_chroma<SMALL_LUT>(float(k::CB_SCALE) * (b - luminance), float(k::CR_SCALE) * (r - luminance),
                                      fields.at(0, x + HALO), *job.prepared);
        store_first(z_cb + x, q1.cb, tile.width - x);
        store_first(z_cr + x, q1.cr, tile.width - x);
    }
}

// Everything before the refiner for row y, which may lie in the halo or outside the picture.
void prepare_row(const Job& job, Tile<vf>& tile, int64_t y, vf* toned) {
    const Geometry& geometry = job.geometry;
    if (y < 0 || y >= geometry.height) {
        for (int j = 0; j < tile.segment + 2 * HALO; ++j) toned[j] = vf{};
        return;
    }
    const int64_t first = tile.x < HALO ? 0 : tile.x - HALO;
    const int64_t end = tile.x + tile.width + HALO < geometry.width ? tile.x + tile.width + HALO : geometry.width;
    const int64_t skip = first - (tile.x - HALO);
    decode(job.image, y, first, end - first, tile.r + skip, tile.g + skip, tile.b + skip);
    tile.fields.move_to(*job.prepared, y, geometry.height);
    job.prepared->short_tone ? tone_row<true>(job, tile) : tone_row<false>(job, tile);
    to_segments(tile.natural, tile.segment, tile.segment + 2 * HALO, toned);
    if (y < tile.y || y >= tile.y + tile.height) return;
    job.prepared->small_lut ? chroma_row<true>(job, tile, y) : chroma_row<false>(job, tile, y);
}

// Y² = clip₀₁(Γ + F), z¹ = C(M·[Y², q¹] + b), and the sums for m and S.
void finish_row(const Job& job, Tile<vf>& tile, int64_t y, const vf* refined, Sums& sums) {
    from_segments(refined, tile.segment, tile.natural);
    const pic_uie::Affine& color = job.prepared->color;
    float *z_y = z_at(job, y, tile.x, 0), *z_cb = z_at(job, y, tile.x, 1), *z_cr = z_at(job, y, tile.x, 2);
    RowMoments moments;
    for (int64_t x = 0; x < tile.width; x += LANES) {
        const int64_t left = tile.width - x;
        vf y2 = clip01(load(tile.natural + x)), cb = load_first(z_cb + x, left), cr = load_first(z_cr + x, left);
        vf z[3];
        for (int i = 0; i < 3; ++i) {
            const float* m = color.matrix + 3 * i;
            z[i] = m[0] * y2 + (m[1] * cb + (m[2] * cr + color.offset[i]));
        }
        z[0] = clip01(z[0]);
        store_first(z_y + x, z[0], left);
        store_first(z_cb + x, z[1], left);
        store_first(z_cr + x, z[2], left);
        moments.add(z, left, x == 0);
    }
    moments.add_to(sums, tile.width);
}

void first_pass(const Job& job, int64_t unit, float* scratch) {
    Tile<vf> whole(job, unit, scratch);
    Sums sums = {};
    walk_strip(
        job, whole, [&](Tile<vf>& tile, int64_t y, vf* toned) { prepare_row(job, tile, y, toned); },
        [&](Tile<vf>& tile, int64_t y, const vf* refined) { finish_row(job, tile, y, refined, sums); });
    job.sums[unit] = sums;
}

// strength·enhanced + (1 - strength)·input.
void blend_row(const Job& job, int64_t y, int64_t x, int64_t count, float* const out[3], float* const in[3]) {
    decode(job.image, y, x, count, in[0], in[1], in[2]);
    for (int channel = 0; channel < 3; ++channel)
        for (int64_t i = 0; i < count; i += LANES) {
            vf before = load(in[channel] + i);
            store(out[channel] + i, clip01(before + job.strength * (load(out[channel] + i) - before)));
        }
}

void second_pass(const Job& job, int64_t unit, float* scratch) {
    const Geometry& geometry = job.geometry;
    const int64_t x = geometry.left + unit % geometry.tiles * geometry.tile_width,
                  y = geometry.top + unit / geometry.tiles * geometry.strip_height;
    const int64_t width = x + geometry.tile_width < geometry.right ? geometry.tile_width : geometry.right - x;
    const int64_t end = y + geometry.strip_height < geometry.bottom ? y + geometry.strip_height : geometry.bottom;
    const int64_t row = geometry.tile_width + 16;
    float* const out[3] = {scratch, scratch + row, scratch + 2 * row};
    float* const in[3] = {scratch + 3 * row, scratch + 4 * row, scratch + 5 * row};
    const float *m = job.finish.matrix, *o = job.finish.offset;
    for (int64_t line = y < job.out_y ? job.out_y : y; line < end; ++line) {
        const float *z_y = z_at(job, line, x, 0), *z_cb = z_at(job, line, x, 1), *z_cr = z_at(job, line, x, 2);
        for (int64_t i = 0; i < width; i += LANES) {
            vf z0 = load_first(z_y + i, width - i), z1 = load_first(z_cb + i, width - i),
               z2 = load_first(z_cr + i, width - i);
            vf luminance = clip01(m[0] * z0 + (m[1] * z1 + (m[2] * z2 + o[0])));
            vf cb = m[3] * z0 + (m[4] * z1 + (m[5] * z2 + o[1])), cr = m[6] * z0 + (m[7] * z1 + (m[8] * z2 + o[2]));
            Rgb rgb = to_rgb(luminance, cb, cr);
            store(out[0] + i, rgb.r);
            store(out[1] + i, rgb.g);
            store(out[2] + i, rgb.b);
        }
        if (job.out.channels == 1)
            for (int64_t i = 0; i < width; i += LANES)
                store(out[0] + i, clip01(luma(load(out[0] + i), load(out[1] + i), load(out[2] + i))));
        if (job.strength != 1.0f) blend_row(job, line, x, width, out, in);
        encode(from(job.image, line, x), from(job.out, line - job.out_y, x - job.out_x), width, out[0], out[1], out[2]);
    }
}

int64_t scratch_floats(const Geometry& geometry) {
    const int64_t first = Tile<vf>::scratch_floats(geometry), second = 6 * (geometry.tile_width + 2 * 16);
    return first > second ? first : second;
}

double multiply_adds(int64_t rounds) {
    constexpr int chains = 12;  // enough to hide the latency of any current core
    vf sum[chains], factor = splat(0.999f), term = splat(0.001f);
    for (int i = 0; i < chains; ++i) sum[i] = splat(float(i));
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
        for (int i = 0; i < chains; ++i) sum[i] = sum[i] * factor + term;
    }
    volatile float sink = 0.0f;
    for (int i = 0; i < chains; ++i) sink = sink + sum[i][0];
    return double(rounds) * chains * LANES;
}

}  // namespace

#define PIC_UIE_STRING_(x) #x
#define PIC_UIE_STRING(x) PIC_UIE_STRING_(x)

const pic_uie::Kernels kernels = {
    PIC_UIE_STRING(PIC_UIE_ISA),
    LANES,
    scratch_floats,
    first_pass,
    second_pass,
    first_pass_yuv,
    second_pass_yuv,
    convolve_row,
    normalise_row,
    multiply_adds,
};

}  // namespace PIC_UIE_ISA
