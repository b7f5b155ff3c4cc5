// The contract of the native core: what goes in, what comes out, and which equation of the paper each part implements.
//
//   I --thumbnail--> predictor --> θ = {t, v, a, Γ, U, A = (M, b), K = (u, G, α)}            Eq. 1
//   I --[Y, q]--> Y¹ (Eq. 2) --> Y², q¹ (Eq. 3) --> z¹ --m, S--> z² (Eq. 4) --> RGB
//
// No function here throws, keeps global state, or touches what it was not handed. Each returns nullptr when done, or a
// static English sentence that says what was wrong; outputs are then unspecified. Results depend on the picture, θ, the
// weights and the instruction set, never on the number of threads or on strides.
#pragma once

#include <cstdint>
#include <memory>

#include "constants.h"

namespace pic_uie {

using Error = const char*;  // nullptr: no error

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

// θ. Fields are (field_height, field_width) row-major; `lut` is (2, grid, grid), Cb' then Cr', last axis along Cb.
struct Corrections {
    const float *t, *v, *a;  // Eq. 2
    int field_height, field_width;
    const float* tone;  // Γ at tone_samples points of a uniform grid over [0, 1], Eq. 3
    int tone_samples;
    const float* lut;  // U in units of 0.5, Eq. 3
    int grid;
    float matrix[9], bias[3];            // A, Eq. 4
    float mean[3], recolor[9], blend;    // K, Eq. 4
};

// Where `predict` writes θ; sizes follow from the predictor's configuration.
struct CorrectionsOut {
    float *t, *v, *a;  // (thumbnail / 8)²
    float* tone;       // TONE_INCREMENTS + 1
    float* lut;        // 2 · grid²
    float* affine;     // 12: M row-major, then b
    float* covariance; // 13: u (3), G row-major (9), α
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

// Weights, a thread pool and reusable buffers. All methods may be called from many threads at once.
class Engine {
  public:
    // `isa` names an instruction set of `instruction_sets`, or is nullptr for the best this machine has.
    static Error create(const Parameters& parameters, int threads, const char* isa, std::unique_ptr<Engine>& engine);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // θ = P(Ĩ, s(Ĩ)), Eq. 1. `threads` 0 means the number given to `create`, here and below.
    Error predict(const Image& image, const CorrectionsOut& corrections, int threads);

    // Applies θ: Eqs. 2-4, inverse colour, clip, then strength·enhanced + (1 - strength)·input in float. Integer samples
    // are rounded half up: floor(x·max + 0.5). Strength 0 copies. `out` may be exactly the memory of `image`.
    Error execute(const Image& image, const Corrections& corrections, const Image& out, float strength, int threads);

    // predict, then execute.
    Error enhance(const Image& image, const Image& out, float strength, int threads);

    const char* instruction_set() const;
    int threads() const;

  private:
    struct Parts;
    explicit Engine(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

// Names of the instruction sets this machine can run, best first, ending in nullptr.
const char* const* instruction_sets();

// The largest rate of float multiply-adds per second that one core reaches with instruction set `isa` in about
// `seconds`; 0 for an unknown name. The yardstick of benchmarks/speed.py.
double peak_multiply_adds(const char* isa, double seconds);

}  // namespace pic_uie
