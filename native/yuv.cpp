// The executor on 4:2:0 frames: luma at full size, chroma at the quarter that the frame has, RGB only in registers.
//
//   first pass   y, Cb, Cr → Y (one affine map) → Y¹, Γ, refiner → Y²;  q (2x2) → q¹;  z¹ in registers for its sums
//   second pass  Y², q¹ → z¹ → z² → RGB, clipped → y, and the mean (B - y), (R - y) of 2x2 pixels
//
// A sample of chroma stands for its 2x2 pixels. With that, q and U(q) are the same for the four, so nothing is lost by
// computing them once. Γ, the refiner and Y² are in fixed point (V is vh) where the frame's levels are coarse enough for it,
// else in floats (vf). Compiled once per instruction set.
#include "yuv.h"

#include <cstring>

#include "chroma.h"
#include "color.h"
#include "moments.h"
#include "strip.h"
#include "tone.h"

namespace PIC_UIE_ISA {

using pic_uie::Sums;
using pic_uie::Yuv;
using pic_uie::YuvJob;

namespace {

constexpr int64_t LEAD = HALO + 1;  // rows start at an even column, so that pairs of pixels share a sample of chroma

int64_t at_most(int64_t i, int64_t limit) { return i < limit ? i : limit; }
int64_t at_least(int64_t i, int64_t limit) { return i > limit ? i : limit; }
int64_t half_up(int64_t i) { return (i + 1) / 2; }

// Samples of either size to floats and back; the loops are plain so that the compiler turns them into vectors.
template <class Sample>
void read_samples(const uint8_t* p, int64_t step, int64_t count, float scale, float offset, float* out) {
    const Sample* samples = reinterpret_cast<const Sample*>(p);
    if (step == int64_t(sizeof(Sample)))
        for (int64_t i = 0; i < count; ++i) out[i] = float(int32_t(samples[i])) * scale + offset;
    else
        for (int64_t i = 0; i < count; ++i)
            out[i] = float(int32_t(samples[i * (step / int64_t(sizeof(Sample)))])) * scale + offset;
}
void read_samples(const Yuv& frame, const void* plane, int64_t row, int64_t stride, int64_t step, int64_t x,
                  int64_t count, float scale, float offset, float* out) {
    const uint8_t* p = static_cast<const uint8_t*>(plane) + row * stride + x * step;
    is_bytes(frame) ? read_samples<uint8_t>(p, step, count, scale, offset, out)
                    : read_samples<uint16_t>(p, step, count, scale, offset, out);
}

template <class Sample>
void write_samples(const float* in, int64_t count, int64_t step, uint8_t* p) {
    Sample* samples = reinterpret_cast<Sample*>(p);
    if (step == int64_t(sizeof(Sample)))
        for (int64_t i = 0; i < count; ++i) samples[i] = Sample(int32_t(in[i]));
    else
        for (int64_t i = 0; i < count; ++i) samples[i * (step / int64_t(sizeof(Sample)))] = Sample(int32_t(in[i]));
}

int64_t sample_size(const Yuv& frame) { return is_bytes(frame) ? 1 : 2; }

// One row of the frame's chroma around a tile, from column `first` on, with what it adds to the model's luma.
struct ChromaRow {
    float *cb, *cr, *shift;
    int64_t first, count, skip, held = -1;

    template <class V>
    ChromaRow(const YuvJob& job, const Tile<V>& tile) {
        cb = tile.g, cr = cb + half_up(job.geometry.tile_width) + LANES + 2 * LEAD, shift = tile.b;
        const int64_t begin = (tile.x - LEAD) / 2;  // -2 at the left edge, where nothing is read
        first = at_least(begin, 0);
        skip = first - begin;
        count = at_most(half_up(tile.x + tile.width + HALO), half_up(job.geometry.width)) - first;
    }

    void hold(const YuvJob& job, int64_t row) {
        if (held == row) return;
        held = row;
        const Yuv& f = job.image;
        const pic_uie::YuvMaps& maps = job.maps;
        read_samples(f, f.cb, row, f.chroma_stride, f.chroma_step, first, count, maps.chroma_scale, maps.chroma_offset,
                     cb + skip);
        read_samples(f, f.cr, row, f.chroma_stride, f.chroma_step, first, count, maps.chroma_scale, maps.chroma_offset,
                     cr + skip);
        if (maps.luma_from_cb != 0.0f || maps.luma_from_cr != 0.0f)
            for (int64_t i = 0; i < skip + count; i += LANES)
                store(shift + i, maps.luma_from_cb * load(cb + i) + maps.luma_from_cr * load(cr + i));
    }
};

struct Halves {
    vf low, high;
};
PIC_UIE_INLINE Halves doubled(vf v) { return {zip_low(v, v, EachLane{}), zip_high(v, v, EachLane{})}; }

template <int FROM, int... I>
PIC_UIE_INLINE vf every_second(Halves v, std::integer_sequence<int, I...>) {
    return shuffle<(2 * I + FROM)...>(v.low, v.high);
}

// The model's Y of one row, from column tile.x - LEAD on.
template <class V>
void luma_row(const YuvJob& job, const Tile<V>& tile, ChromaRow& chroma, int64_t y) {
    const Yuv& f = job.image;
    const int64_t begin = at_least(tile.x - LEAD, 0);
    const int64_t end = at_most(tile.x + tile.width + HALO, job.geometry.width);
    float* out = tile.r + (begin - (tile.x - LEAD));
    read_samples(f, f.y, y, f.y_stride, sample_size(f), begin, end - begin, job.maps.luma_scale, job.maps.luma_offset,
                 out);
    if (job.maps.luma_from_cb == 0.0f && job.maps.luma_from_cr == 0.0f) return;
    for (int64_t i = 0; 2 * i < end - (tile.x - LEAD); i += LANES) {
        const Halves shift = doubled(load(chroma.shift + i));
        float* pixels = tile.r + 2 * i;
        store(pixels, load(pixels) + shift.low);
        store(pixels + LANES, load(pixels + LANES) + shift.high);
    }
}

PIC_UIE_INLINE void store_toned(float* to, vf toned) { store(to, toned); }
PIC_UIE_INLINE void store_toned(uint16_t* to, vf toned) { store_as(to, to_steps(toned)); }

template <bool SHORT_TONE, class V>
void tone_luma(const YuvJob& job, const Tile<V>& tile) {
    const FieldRows fields = tile.fields;
    const float* luma = tile.r + (LEAD - HALO);
    Element<V>* toned = tile.natural;
    const int64_t count = int64_t(lanes<V>) * tile.segment + 2 * HALO;
    for (int64_t i = 0; i < count; i += LANES) {
        vf y1 = correct_luminance(load(luma + i), fields.at(0, i), fields.at(1, i), fields.at(2, i));
        store_toned(toned + i, apply_tone<SHORT_TONE>(y1, *job.prepared));
    }
    for (int64_t i = 0; i < HALO - tile.x; ++i) toned[i] = Element<V>(0);
    for (int64_t i = job.geometry.width - tile.x + HALO; i < count; ++i) toned[i] = Element<V>(0);
}

float* chroma_plane(const YuvJob& job, int64_t row, int channel) {
    return job.chroma + (2 * row + channel) * job.chroma_pitch;
}

// q¹ of the row of chroma that is held.
template <bool SMALL_LUT, class V>
void correct_chroma_row(const YuvJob& job, const Tile<V>& tile, const ChromaRow& chroma) {
    const float* m = job.maps.chroma;
    const int64_t count = half_up(tile.width);
    const float *cb = chroma.cb + LEAD / 2, *cr = chroma.cr + LEAD / 2;
    float *q1_cb = chroma_plane(job, chroma.held, 0) + tile.x / 2,
          *q1_cr = chroma_plane(job, chroma.held, 1) + tile.x / 2;
    for (int64_t i = 0; i < count; i += LANES) {
        const vf file_cb = load(cb + i), file_cr = load(cr + i);
        const Halves t = {tile.fields.at(0, HALO + 2 * i), tile.fields.at(0, HALO + 2 * i + LANES)};
        const vf mean_t = 0.5f * (every_second<0>(t, EachLane{}) + every_second<1>(t, EachLane{}));
        const Chroma q1 = correct_chroma<SMALL_LUT>(m[0] * file_cb + m[1] * file_cr, m[2] * file_cb + m[3] * file_cr,
                                                    mean_t, *job.prepared);
        store_first(q1_cb + i, q1.cb, count - i);
        store_first(q1_cr + i, q1.cr, count - i);
    }
}

template <class V>
void prepare_row(const YuvJob& job, Tile<V>& tile, ChromaRow& chroma, int64_t y, V* toned) {
    if (y < 0 || y >= job.geometry.height) {
        for (int j = 0; j < tile.segment + 2 * HALO; ++j) toned[j] = V{};
        return;
    }
    chroma.hold(job, y / 2);
    luma_row(job, tile, chroma, y);
    tile.fields.move_to(*job.prepared, y, job.geometry.height);
    job.prepared->short_tone ? tone_luma<true>(job, tile) : tone_luma<false>(job, tile);
    to_segments(tile.natural, tile.segment, tile.segment + 2 * HALO, toned);
    if (y % 2 || y < tile.y || y >= tile.y + tile.height) return;
    job.prepared->small_lut ? correct_chroma_row<true>(job, tile, chroma)
                            : correct_chroma_row<false>(job, tile, chroma);
}

// M·[·, q¹] + b: what chroma contributes to z¹, for LANES samples of chroma.
struct Shared {
    vf part[3];
};
PIC_UIE_INLINE Shared chroma_part(const pic_uie::Affine& color, vf cb, vf cr) {
    Shared shared;
    for (int i = 0; i < 3; ++i)
        shared.part[i] = color.matrix[3 * i + 1] * cb + (color.matrix[3 * i + 2] * cr + color.offset[i]);
    return shared;
}

// Y² of LANES pixels as the refiner left it and as it is kept between the passes.
PIC_UIE_INLINE vf read_luma(const float* p) { return clip01(load(p)); }
PIC_UIE_INLINE vf read_luma(const uint16_t* p) { return from_steps(load_as<vh_half>(p)); }

template <class V>
Element<V>* luma_plane(const YuvJob& job, int64_t y) {
    return static_cast<Element<V>*>(job.luma) + y * job.pitch;
}

template <class V>
void finish_row(const YuvJob& job, Tile<V>& tile, int64_t y, const V* refined, Sums& sums) {
    from_segments(refined, tile.segment, tile.natural);
    const pic_uie::Affine& color = job.prepared->color;
    std::memcpy(luma_plane<V>(job, y) + tile.x, tile.natural, size_t(tile.width) * sizeof(Element<V>));
    const float *cb = chroma_plane(job, y / 2, 0) + tile.x / 2, *cr = chroma_plane(job, y / 2, 1) + tile.x / 2;
    RowMoments moments;
    for (int64_t x = 0; x < tile.width; x += 2 * LANES) {
        const int64_t samples = half_up(tile.width - x);
        const Shared shared = chroma_part(color, load_first(cb + x / 2, samples), load_first(cr + x / 2, samples));
        Halves part[3];
        for (int i = 0; i < 3; ++i) part[i] = doubled(shared.part[i]);
        for (int half = 0; half < 2; ++half) {
            const int64_t at = x + half * LANES, left = tile.width - at;
            if (left <= 0) break;
            const vf y2 = read_luma(tile.natural + at);
            vf z[3];
            for (int i = 0; i < 3; ++i) z[i] = color.matrix[3 * i] * y2 + (half ? part[i].high : part[i].low);
            z[0] = clip01(z[0]);
            moments.add(z, left, at == 0);
        }
    }
    moments.add_to(sums, tile.width);
}

// z² of a pixel as an affine map of (z¹_Y, Y², q¹), for the rows of Eq. 4: the part of Y² is the same everywhere.
struct Finish {
    const pic_uie::Affine &color, &last;
    float from_y2[3];

    Finish(const pic_uie::Affine& first, const pic_uie::Affine& second) : color(first), last(second) {
        for (int i = 0; i < 3; ++i)
            from_y2[i] = last.matrix[3 * i + 1] * color.matrix[3] + last.matrix[3 * i + 2] * color.matrix[6];
    }
    PIC_UIE_INLINE void fold(const Shared& shared, vf folded[3]) const {
        for (int i = 0; i < 3; ++i)
            folded[i] =
                last.matrix[3 * i + 1] * shared.part[1] + (last.matrix[3 * i + 2] * shared.part[2] + last.offset[i]);
    }
    PIC_UIE_INLINE Rgb pixels(vf y2, vf luma_part, const vf folded[3]) const {
        const vf z_y = clip01(color.matrix[0] * y2 + luma_part);
        vf z2[3];
        for (int i = 0; i < 3; ++i) z2[i] = last.matrix[3 * i] * z_y + (from_y2[i] * y2 + folded[i]);
        return to_rgb(clip01(z2[0]), z2[1], z2[2]);
    }
};

// Values in samples, rounded half up, of which LANES at a time become integers in range.
PIC_UIE_INLINE vf rounded(vf values, float highest) { return min(values + 0.5f, splat(highest + 0.5f)); }

// Blends with what the frame had, in samples, and writes what `rounded` made.
void encode_row(const YuvJob& job, const void* from, const void* to, int64_t row, int64_t in_stride, int64_t out_stride,
                int64_t in_step, int64_t out_step, int64_t x, int64_t count, float* values, float* before) {
    if (job.strength != 1.0f) {
        read_samples(job.image, from, row, in_stride, in_step, x, count, 1.0f, 0.5f, before);
        for (int64_t i = 0; i < count; ++i) values[i] = before[i] + job.strength * (values[i] - before[i]);
    }
    uint8_t* p = static_cast<uint8_t*>(const_cast<void*>(to)) + row * out_stride + x * out_step;
    is_bytes(job.out) ? write_samples<uint8_t>(values, count, out_step, p)
                      : write_samples<uint16_t>(values, count, out_step, p);
}

template <class V>
void first_pass_of(const YuvJob& job, int64_t unit, float* scratch) {
    Tile<V> whole(job, unit, scratch);
    ChromaRow chroma(job, whole);
    Sums sums = {};
    walk_strip(
        job, whole, [&](Tile<V>& tile, int64_t y, V* toned) { prepare_row(job, tile, chroma, y, toned); },
        [&](Tile<V>& tile, int64_t y, const V* refined) { finish_row(job, tile, y, refined, sums); });
    job.sums[unit] = sums;
}

template <class V>
void second_pass_of(const YuvJob& job, int64_t unit, float* scratch) {
    const Geometry& g = job.geometry;
    const pic_uie::YuvMaps& maps = job.maps;
    const int64_t left = unit % g.tiles * g.tile_width, top = unit / g.tiles * g.strip_height;
    const int64_t width = at_most(g.tile_width, g.width - left), bottom = at_most(top + g.strip_height, g.height);
    const int64_t row = g.tile_width + 2 * LANES;
    float *const luma[2] = {scratch, scratch + row}, *const chroma[2] = {scratch + 2 * row, scratch + 3 * row};
    float* const before = scratch + 4 * row;
    const Finish finish(job.prepared->color, job.finish);
    const Yuv &in = job.image, &out = job.out;
    for (int64_t y = top; y < bottom; y += 2) {
        const int rows = y + 1 < bottom ? 2 : 1;
        const float *cb = chroma_plane(job, y / 2, 0) + left / 2, *cr = chroma_plane(job, y / 2, 1) + left / 2;
        for (int64_t x = 0; x < width; x += 2 * LANES) {
            const int64_t samples = half_up(width - x);
            const Shared shared =
                chroma_part(finish.color, load_first(cb + x / 2, samples), load_first(cr + x / 2, samples));
            vf folded[3];
            finish.fold(shared, folded);
            const Halves luma_part = doubled(shared.part[0]);
            Halves parts[3];
            for (int i = 0; i < 3; ++i) parts[i] = doubled(folded[i]);
            Halves blue = {}, red = {};
            for (int half = 0; half < 2; ++half) {
                const vf own[3] = {half ? parts[0].high : parts[0].low, half ? parts[1].high : parts[1].low,
                                   half ? parts[2].high : parts[2].low};
                vf from_blue{}, from_red{};
                for (int line = 0; line < rows; ++line) {
                    const int64_t at = x + half * LANES;
                    const vf y2 = read_luma(luma_plane<V>(job, y + line) + left + at);
                    const Rgb rgb = finish.pixels(y2, half ? luma_part.high : luma_part.low, own);
                    const vf file_y = maps.kr * rgb.r + (maps.kg * rgb.g + maps.kb * rgb.b);
                    store(luma[line] + at, rounded(file_y * maps.luma_levels + maps.luma_zero, maps.highest));
                    from_blue += rgb.b - file_y;
                    from_red += rgb.r - file_y;
                }
                (half ? blue.high : blue.low) = from_blue;
                (half ? red.high : red.low) = from_red;
            }
            // The mean of the pixels that a sample stands for: at an odd right edge its second column is not there.
            const vi column = iota(EachLane{}) + int32_t(x / 2);
            auto mean = [&](Halves sums) PIC_UIE_INLINE_LAMBDA {
                const vf even = every_second<0>(sums, EachLane{}), odd = every_second<1>(sums, EachLane{});
                return (0.5f / float(rows)) * (even + (column * 2 + 1 < int32_t(width) ? odd : even));
            };
            store(chroma[0] + x / 2,
                  rounded(mean(blue) * (maps.cb_scale * maps.chroma_levels) + maps.chroma_zero, maps.highest));
            store(chroma[1] + x / 2,
                  rounded(mean(red) * (maps.cr_scale * maps.chroma_levels) + maps.chroma_zero, maps.highest));
        }
        for (int line = 0; line < rows; ++line)
            encode_row(job, in.y, out.y, y + line, in.y_stride, out.y_stride, sample_size(in), sample_size(out), left,
                       width, luma[line], before);
        for (int c = 0; c < 2; ++c)
            encode_row(job, c ? in.cr : in.cb, c ? out.cr : out.cb, y / 2, in.chroma_stride, out.chroma_stride,
                       in.chroma_step, out.chroma_step, left / 2, half_up(width), chroma[c], before);
    }
}

}  // namespace

void first_pass_yuv(const YuvJob& job, int64_t unit, float* scratch) {
    job.fixed ? first_pass_of<vh>(job, unit, scratch) : first_pass_of<vf>(job, unit, scratch);
}
void second_pass_yuv(const YuvJob& job, int64_t unit, float* scratch) {
    job.fixed ? second_pass_of<vh>(job, unit, scratch) : second_pass_of<vf>(job, unit, scratch);
}

}  // namespace PIC_UIE_ISA
