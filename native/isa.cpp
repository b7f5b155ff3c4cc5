#include "isa.h"

#include <chrono>
#include <cstring>

#if defined(__x86_64__)
namespace avx512 { extern const pic_uie::Kernels kernels; }
namespace avx2 { extern const pic_uie::Kernels kernels; }
#endif
namespace PIC_UIE_BASELINE { extern const pic_uie::Kernels kernels; }

namespace pic_uie {
namespace {

struct Available {
    const Kernels* kernels[4] = {};
    const char* names[4] = {};

    Available() {
        int count = 0;
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
            kernels[count++] = &avx512::kernels;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels[count++] = &avx2::kernels;
#endif
        kernels[count++] = &PIC_UIE_BASELINE::kernels;
        for (int i = 0; i < count; ++i) names[i] = kernels[i]->name;
    }
};

const Available& available() {
    static const Available found;
    return found;
}

}  // namespace

const Kernels* find_kernels(const char* isa) {
    for (const Kernels* kernels : available().kernels)
        if (kernels && (!isa || std::strcmp(isa, kernels->name) == 0)) return kernels;
    return nullptr;
}

const char* const* instruction_sets() { return available().names; }

double peak_multiply_adds(const char* isa, double seconds) {
    using Clock = std::chrono::steady_clock;
    const Kernels* kernels = find_kernels(isa);
    if (!kernels) return 0.0;
    double best = 0.0, passed = 0.0;
    while (passed < seconds) {
        const Clock::time_point start = Clock::now();
        const double done = kernels->multiply_adds(100'000);
        const double took = std::chrono::duration<double>(Clock::now() - start).count();
        passed += took;
        if (took > 0.0 && done / took > best) best = done / took;
    }
    return best;
}

}  // namespace pic_uie
