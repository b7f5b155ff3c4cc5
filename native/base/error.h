// What can go wrong, as codes: the bindings turn them into exceptions, and nobody has to read English to tell them apart.
#pragma once

namespace pic_uie {

#define PIC_UIE_ERRORS(X)                                                                     \
    X(out_of_memory, "not enough memory for a picture of this size")                          \
    X(bad_threads, "threads must be 1 to 256")                                                \
    X(no_instruction_set, "this machine cannot run that instruction set")                     \
    X(bad_weights, "the weights have values that are missing or not finite")                  \
    X(bad_width, "the predictor's width must be 1 to 1024")                                   \
    X(bad_thumbnail, "the thumbnail must be a multiple of 8 from 16 to 4096")                 \
    X(bad_grid, "the chroma table must have 2 to 257 samples a side")                         \
    X(no_pixels, "the picture has no pixels")                                                 \
    X(too_large, "the picture is too large")                                                  \
    X(bad_channels, "the picture must have 1, 3 or 4 channels")                               \
    X(bad_strides, "the picture's strides overflow")                                          \
    X(bad_samples, "samples must be finite and in [0, 1]")                                    \
    X(bad_layout, "the planes must have 8 to 16 bits and chroma samples that do not overlap") \
    X(unlike_output, "input and output must have the same size, channels and depth")          \
    X(bad_part, "the part must lie in the picture, its output outside the picture's memory")  \
    X(overlapping_output, "output samples overlap: wrong strides")                            \
    X(bad_strength, "strength must be in [0, 1]")                                             \
    X(bad_statistics, "the statistics must be finite, the covariance symmetric")              \
    X(no_corrections, "the corrections have no memory")                                       \
    X(bad_fields, "the fields t, v, a must have 1 to 2^26 samples")                           \
    X(bad_tone, "the tone curve must have 2 to 2^23 samples")                                 \
    X(bad_table, "the chroma table must have 2 to 8192 samples a side")                       \
    X(bad_corrections, "the corrections have values that are missing or not finite")

enum class Code : int {
    none,
#define PIC_UIE_CODE(name, message) name,
    PIC_UIE_ERRORS(PIC_UIE_CODE)
#undef PIC_UIE_CODE
};

// Converts to true where something went wrong.
struct [[nodiscard]] Error {
    Code code = Code::none;

    constexpr Error() = default;
    constexpr Error(Code what) : code(what) {}
    constexpr explicit operator bool() const { return code != Code::none; }
};

constexpr const char* message(Error error) {
    switch (error.code) {
        case Code::none: return "";
#define PIC_UIE_CASE(name, message) \
    case Code::name: return message;
            PIC_UIE_ERRORS(PIC_UIE_CASE)
#undef PIC_UIE_CASE
    }
    return "";
}

}  // namespace pic_uie

// Around the body of a function that returns an Error. WebAssembly has no exceptions: there, running out of memory ends the
// call as a trap, and the caller checks sizes before.
#if defined(__cpp_exceptions)
#include <new>
#define PIC_UIE_TRY try
#define PIC_UIE_OUT_OF_MEMORY                  \
    catch (const std::bad_alloc&) {            \
        return ::pic_uie::Code::out_of_memory; \
    }
#else
#define PIC_UIE_TRY
#define PIC_UIE_OUT_OF_MEMORY
#endif
