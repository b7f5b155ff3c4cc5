// What the training kernels compute: forward and backward of the predictor's body, the executor and the structural loss.
//
// All arrays are C-contiguous. A call handles one image (executor) or one channel of one image (structure); the
// caller spreads calls over threads. T is float, or double for checking gradients.
#pragma once

#include <cstdint>

#include "base/dispatch.h"
#include "constants.h"

namespace pic_uie::training {

// Packed parameters of the refiner: expand (16x9) and its bias (16), depthwise (16x9) and bias (16), project (16x9) and bias.
constexpr int kRefinerWidth = constants::REFINER_WIDTH;
constexpr int kExpand = 0, kExpandBias = 144, kDepthwise = 160, kDepthwiseBias = 304, kProject = 320,
              kProjectBias = 464;
constexpr int kRefinerSize = 465;

constexpr int kScales = 5;  // of MS-SSIM

struct Shape {
    int height, width;              // of the image
    int field_height, field_width;  // of t, v, a
    int tones, grid;                // samples of Γ, samples along a side of U
};

struct BodyShape {
    int channels, width, size;  // of the thumbnail, of the body, side of the thumbnail (a multiple of 8)
};

// What z¹ depends on: the picture, θ without K, and the executor's own parameters.
template <class T>
struct Inputs {
    const T* rgb;                   // (3, H, W)
    const T *t, *v, *a;             // (h, w)
    const T *tone, *lut;            // (n), (2, g, g)
    const T *matrix, *bias;         // (3, 3), (3)
    const T *beta_gamma, *refiner;  // (2), (465)
};

template <class T>
struct Gradients {
    T *t, *v, *a, *tone, *lut, *matrix, *bias, *beta_gamma, *refiner;  // overwritten
};

template <class T>
struct Kernels {
    // The predictor's body: thumbnail (channels, size, size) to features (width, size/8, size/8). `packed` has, for each of
    // three blocks, convolution (width, channels, 3, 3), its bias, and the normalisation's gain and shift. `saved` gets the
    // normalised maps and their scales: width · (21/64 · size² + 3) values.
    void (*body)(const BodyShape&, const T* thumbnail, const T* packed, T* saved, T* features);
    // Gradient of `packed`.
    void (*body_backward)(const BodyShape&, const T* thumbnail, const T* packed, const T* saved,
                          const T* features_gradient, T* packed_gradient);
    // Eqs. 2-3 and the first line of Eq. 4: z¹ (3, H, W), its mean m (3) and covariance (3, 3; N - 1) in double. `refined`
    // gets Y² before its clip (H, W), which the backward pass would otherwise have to compute again.
    void (*correct)(const Shape&, const Inputs<T>&, T* z1, T* refined, double* mean, double* covariance);
    // Gradients of `correct`, given those of z¹, m and the covariance.
    void (*correct_backward)(const Shape&, const Inputs<T>&, const T* z1, const T* refined, const double* mean,
                             const T* z1_gradient, const double* mean_gradient, const double* covariance_gradient,
                             const Gradients<T>&);
    // The rest of Eq. 4 folded to one affine map, and the inverse colour transform: RGB in [0, 1].
    void (*finish)(std::int64_t pixels, const T* z1, const T* slope, const T* offset, T* rgb);
    // Gradients of `finish`: of z¹ (3, H, W), slope (3, 3), offset (3).
    void (*finish_backward)(std::int64_t pixels, const T* z1, const T* slope, const T* offset, const T* rgb_gradient,
                            T* z1_gradient, double* slope_gradient, double* offset_gradient);
    // Means over the map of SSIM and of its contrast-structure factor at each scale: (5, 2). `scales` of them are computed.
    void (*structure)(int height, int width, int scales, const T* x, const T* y, double* means);
    // Adds Σ coefficient · d mean / dx to x_gradient; coefficients (5, 2).
    void (*structure_backward)(int height, int width, int scales, const T* x, const T* y, const double* coefficients,
                               T* x_gradient);
};

// The kernels of one instruction set, or the best for nullptr; nullptr when this machine cannot run them.
template <class T>
const Kernels<T>* find_kernels(const char* instruction_set);

}  // namespace pic_uie::training

#define PIC_UIE_DECLARE_KERNELS(set)                                    \
    namespace training_##set {                                          \
        extern const pic_uie::training::Kernels<float> float_kernels;   \
        extern const pic_uie::training::Kernels<double> double_kernels; \
    }
PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_DECLARE_KERNELS)
#undef PIC_UIE_DECLARE_KERNELS
