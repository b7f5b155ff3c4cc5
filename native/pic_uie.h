// The contract of the native core: what goes in, what comes out, and which equation of the paper each part implements.
//
//   I --thumbnail--> predictor --> θ = {t, v, a, Γ, U, A = (M, b), K = (u, G, α)}            Eq. 1
//   I --[Y, q]--> Y¹ (Eq. 2) --> Y², q¹ (Eq. 3) --> z¹ --m, S--> z² (Eq. 4) --> RGB
//
// No function here throws, keeps global state, or touches what it was not handed. Each returns a code (base/error.h);
// outputs are unspecified where something went wrong. Results depend on the picture, θ, the weights and the instruction
// set, never on the number of threads or on strides.
#pragma once

#include <cstdint>
#include <memory>

#include "base/dispatch.h"
#include "base/error.h"
#include "constants.h"

namespace pic_uie {

enum class Depth { u8, u16, f32 };  // a sample s stands for s / 255, s / 65535, s

// Pixels as the caller holds them: grey (1), RGB (3) or RGBA (4 channels, alpha is only ever copied); strides in bytes,
// of either sign. Grey is enhanced as R = G = B and returned as the luma of the result.
struct Image {
    const void* data;
    Depth depth;
    int64_t height, width;
    int channels;
    int64_t row_stride, pixel_stride, channel_stride;
};

// A frame of video: 4:2:0, so that a sample of Cb and Cr belongs to 2x2 pixels (fewer at odd edges). Semi-planar NV12 is
// cr = cb + 1 sample with a pixel stride of 2 samples. Strides in bytes, not negative.
struct Yuv {
    const void *y, *cb, *cr;
    int64_t height, width;                         // of y
    int64_t y_stride, chroma_stride, chroma_step;  // from row to row, from row to row, from sample to sample
    int bits;                                      // 8: bytes; 9 to 16: in the low bits of 16-bit words
    double kr, kb;                                 // the luma weights of red and blue: BT.601, 709 or 2020
    bool full_range;
};

// What samples are. The page has bytes alone, and would download the code for others in vain.
#if defined(PIC_UIE_BYTES_ONLY)
__attribute__((always_inline)) inline Depth depth_of(const Image&) { return Depth::u8; }
__attribute__((always_inline)) inline bool is_bytes(const Yuv&) { return true; }
#else
__attribute__((always_inline)) inline Depth depth_of(const Image& image) { return image.depth; }
__attribute__((always_inline)) inline bool is_bytes(const Yuv& frame) { return frame.bits == 8; }
#endif

// θ. Fields are (field_height, field_width) row-major; `lut` is (2, grid, grid), Cb' then Cr', last axis along Cb.
struct Corrections {
    const float *t, *v, *a;  // Eq. 2
    int field_height, field_width;
    const float* tone;  // Γ at tone_samples points of a uniform grid over [0, 1], Eq. 3
    int tone_samples;
    const float* lut;  // U in units of 0.5, Eq. 3
    int grid;
    float matrix[9], bias[3];          // A, Eq. 4
    float mean[3], recolor[9], blend;  // K, Eq. 4
    float refinement = 1.0f;           // the share of F in Eq. 3 that is added
};

// m and S of Eq. 4 as the executor uses them: S with its 1e-4·I.
struct Statistics {
    double mean[3], covariance[9];
};

// Where `predict` and `scale` write θ; sizes follow from the predictor's configuration, or from the θ that is scaled.
struct CorrectionsOut {
    float *t, *v, *a;   // (thumbnail / 8)²
    float* tone;        // TONE_INCREMENTS + 1
    float* lut;         // 2 · grid²
    float* affine;      // 12: M row-major, then b
    float* covariance;  // 13: u (3), G row-major (9), α
};

// How much of each group of corrections is applied: 1 as predicted, 0 not at all.
struct Strengths {
    float haze, contrast, colour, balance;  // v and a; Γ and F; U; A and K
};

struct Layer {
    const float *weight, *bias;
};

// Parameters in PyTorch's order (output, input, 3, 3); copied by `Engine::create`.
struct Parameters {
    int width, thumbnail, grid;
    Layer conv[3], norm[3], statistics;
    Layer t, v, a, tone, chroma, affine, covariance;  // heads
    float beta, gamma;                                // gate of Eq. 3
    Layer expand, depthwise, project;                 // refiner F of Eq. 3
};

// Weights, a thread pool and reusable buffers. All methods may be called from many threads at once; `threads` 0 means the
// number given to `create`. A picture is an Image or a Yuv, everywhere.
class Engine {
  public:
    // `instruction_set` is one of `instruction_sets()`, or nullptr for the best this machine has.
    static Error create(const Parameters& parameters, int threads, const char* instruction_set,
                        std::unique_ptr<Engine>& engine);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // θ = P(Ĩ, s(Ĩ)), Eq. 1.
    Error predict(const Image& picture, const CorrectionsOut& corrections, int threads);
    Error predict(const Yuv& picture, const CorrectionsOut& corrections, int threads);

    // m and S of a picture under θ, Eq. 4.
    Error measure(const Image& picture, const Corrections& corrections, Statistics& statistics, int threads);
    Error measure(const Yuv& picture, const Corrections& corrections, Statistics& statistics, int threads);

    // Applies θ: Eqs. 2-4, inverse colour, clip, then strength·enhanced + (1 - strength)·input in float. Integer samples
    // are rounded half up: floor(x·max + 0.5). Strength 0 copies, and so do corrections that change nothing: the way
    // to RGB and back would clip what a frame has outside of it. `out` may be exactly the memory of `picture`.
    // `statistics` nullptr: the picture's own, which `measure` returns; they are also written to `own` where there is one
    // and nothing was copied, since the first pass has them anyway.
    Error execute(const Image& picture, const Corrections& corrections, const Statistics* statistics, const Image& out,
                  float strength, int threads, Statistics* own = nullptr);
    Error execute(const Yuv& picture, const Corrections& corrections, const Statistics* statistics, const Yuv& out,
                  float strength, int threads, Statistics* own = nullptr);

    // The part of what `execute` makes that begins at (x, y) and is as large as `out`, which lies outside the picture's
    // memory: a large result strip by strip. Parts of the picture's whole width are equal to the byte; where others begin
    // changes the last bit of floats.
    Error execute_part(const Image& picture, const Corrections& corrections, const Statistics& statistics, int64_t x,
                       int64_t y, const Image& out, float strength, int threads);

    // predict, then execute.
    Error enhance(const Image& picture, const Image& out, float strength, int threads);
    Error enhance(const Yuv& picture, const Yuv& out, float strength, int threads);

    const char* instruction_set() const;
    int threads() const;

  private:
    struct Parts;
    explicit Engine(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

// θ with each group moved towards the corrections that change nothing; valid wherever θ is. Everything but the
// refinement is written to `scaled`, which may be the memory of `corrections`.
Error scale(const Corrections& corrections, const Strengths& strengths, const CorrectionsOut& scaled,
            float& refinement);

// Whether θ is the identity, as it is with all groups at 0.
bool changes_nothing(const Corrections& corrections);

// The largest rate of float multiply-adds per second that one core reaches in about `seconds`; 0 for an unknown name. The
// yardstick of benchmarks/speed.py.
double peak_multiply_adds(const char* instruction_set, double seconds);

}  // namespace pic_uie
