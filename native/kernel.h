// What the kernels read: θ and the weights in the form the inner loops want, and the cutting of the picture into units.
// Plain data without functions: shared by files compiled for different instruction sets.
#pragma once

#include "pic_uie.h"

namespace pic_uie {

// One 3x3 convolution of one channel as F(2,3) of Winograd along y: 4 products make 2 rows, where 6 would.
template <class Number>
struct Taps {
    Number weight[4][3];  // [product][dx]
    Number bias;
};

// The channels of F that can be other than zero; the others cost nothing.
template <class Number>
struct RefinerOf {
    int channels;
    Taps<Number> expand[constants::REFINER_WIDTH], depthwise[constants::REFINER_WIDTH],
        project[constants::REFINER_WIDTH];
    Number project_bias;
};
using Refiner = RefinerOf<float>;

// The same in 16 bits (fixed.h). The luma of a frame before and after the refiner in steps:
inline constexpr int TONED_STEPS = 16383, LUMA_STEPS = 2 * TONED_STEPS;
struct FixedRefiner : RefinerOf<int16_t> {
    int16_t shrink;  // F in steps of Y² is F in its own, finer steps times this / 2¹⁵
    double error;    // of Y², at most; 1 where 16 bits do not suffice
};

// z² = P·z¹ + o once m and S are known (Eq. 4), with the chroma rows scaled for the inverse colour transform.
struct Affine {
    float matrix[9], offset[3];
};

struct Prepared {
    const float* fields[3];  // t, v, a
    int field_height, field_width;

    const float* tone;
    float tone_intervals;
    bool short_tone;  // at most 32 intervals: tone_value and tone_step are filled
    alignas(64) float tone_value[32];
    alignas(64) float tone_step[32];

    const float* lut;
    int grid;
    bool small_lut;                         // at most 8x8 cells: both of the following are filled
    alignas(64) float cells[64][8];         // [cell][Cb' of 1, x, y, xy; then Cr']
    alignas(64) float coefficients[8][64];  // the same, turned

    float beta, gamma;
    Affine color;  // M, b
    Refiner refiner;
    FixedRefiner fixed;
};

// A unit is one tile of columns in one strip of rows; units are independent, and fixed by the size of the picture and of
// the part of it that is made.
struct Geometry {
    int64_t height, width;             // of the picture
    int64_t top, left, bottom, right;  // the part: all of the picture, or less; `top` is even, as pairs of rows are
    int segment;                       // pixels per vector lane: a tile is LANES segments wide
    int64_t tile_width, tiles;
    int64_t strip_height, strips;
};

// Σd and Σd·dᵀ of d = z¹ - pivot turned to Σz and Σz·zᵀ in double: Y, Cb, Cr; YY, YCb, YCr, CbCb, CbCr, CrCr.
struct Sums {
    double first[3], second[6];
};

// What both passes know of a picture of either kind.
struct Pass {
    float strength;
    const Prepared* prepared;
    Geometry geometry;
    Sums* sums;     // per unit
    Affine finish;  // for the second pass
};

struct Job : Pass {
    Image image, out;
    int64_t out_x, out_y;  // the pixel of the picture that `out` begins with
    float* z;              // z¹: (rows, 3, pitch), from column z_x of row z_y on
    int64_t pitch, z_x, z_y;
};

// The file's Y'CbCr to the model's and back. Chroma is a 2x2 map; luma gets a share of chroma where the weights differ.
struct YuvMaps {
    float luma_scale, luma_offset, chroma_scale, chroma_offset;  // samples to [0, 1] and [-0.5, 0.5]
    float luma_from_cb, luma_from_cr;                            // the model's Y = y + these
    float chroma[4];                                             // the model's Cb, Cr from Cb, Cr
    float kr, kg, kb, cb_scale, cr_scale;                        // back from RGB: y, then (B - y), (R - y) scaled
    float luma_levels, chroma_levels, luma_zero, chroma_zero, highest;  // and to samples
};

struct YuvJob : Pass {
    Yuv image, out;
    YuvMaps maps;
    bool fixed;     // luma between the passes, and the refiner, in 16 bits
    void* luma;     // Y²: (height, pitch), floats or steps of 16 bits
    float* chroma;  // q¹: ((height + 1) / 2, 2, chroma_pitch)
    int64_t pitch, chroma_pitch;
};

// One layer of the predictor's body: (in_size, in_size, in_channels) to half the side; maps have a border of one zero
// pixel and channels padded to `out_pitch`, a multiple of the vector length.
struct Convolution {
    const float* in;
    float* out;
    int in_size, in_channels, in_pitch, out_channels, out_pitch;
    const float *weight, *bias;  // [ky][kx][input][out_pitch], [out_pitch]
    float* row_sums;             // [row][3][out_pitch]: a pivot p, Σ(x - p), Σ(x - p)²
};

struct Normalisation {
    float* map;
    int size, pitch;
    const float *scale, *shift, *mean;  // [pitch]
    float* row_sums;                    // [row][pitch]: Σ
};

// The functions of one instruction set.
struct Kernels {
    const char* name;
    int lanes;
    int64_t (*scratch_floats)(const Geometry&);
    void (*first_pass)(const Job&, int64_t unit, float* scratch);   // Eqs. 2, 3 and the affine and sums of Eq. 4
    void (*second_pass)(const Job&, int64_t unit, float* scratch);  // the rest of Eq. 4, inverse colour, encoding
    void (*first_pass_yuv)(const YuvJob&, int64_t unit, float* scratch);
    void (*second_pass_yuv)(const YuvJob&, int64_t unit, float* scratch);
    void (*convolve_row)(const Convolution&, int row);
    void (*normalise_row)(const Normalisation&, int row);
    double (*multiply_adds)(int64_t rounds);  // a loop of nothing else; returns how many were done
};

}  // namespace pic_uie

#define PIC_UIE_DECLARE_KERNELS(set)       \
    namespace set {                        \
    extern const pic_uie::Kernels kernels; \
    }
PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_DECLARE_KERNELS)
#undef PIC_UIE_DECLARE_KERNELS
