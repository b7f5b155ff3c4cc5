#include "dispatch.h"

#include <cstring>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace pic_uie {
namespace {

#if defined(_MSC_VER)  // clang in Microsoft's world, whose runtime lacks what __builtin_cpu_supports reads
bool supports(const char* set) {
    int first[4], seventh[4];
    __cpuid(first, 1);
    __cpuidex(seventh, 7, 0);
    auto has = [](int word, int bit) { return ((word >> bit) & 1) != 0; };
    if (!std::strcmp(set, "baseline")) return has(first[2], 20);
    if (!has(first[2], 27) || !has(first[2], 12)) return false;  // the system saves wide registers; FMA
    const unsigned long long saved = _xgetbv(0);
    if (!std::strcmp(set, "avx2")) return (saved & 0x6) == 0x6 && has(seventh[1], 5);
    return (saved & 0xe6) == 0xe6 && has(seventh[1], 16) && has(seventh[1], 17) && has(seventh[1], 30) &&
           has(seventh[1], 31);
}
#elif defined(__x86_64__)
bool supports(const char* set) {
    __builtin_cpu_init();
    if (!std::strcmp(set, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("fma");
    if (!std::strcmp(set, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("sse4.2");
}
#else
bool supports(const char*) { return true; }
#endif

struct Available {
    const char* names[4] = {};

    Available() {
        int count = 0;
#define PIC_UIE_TRY(name) \
    if (can_run(#name)) names[count++] = #name;
        PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_TRY)
#undef PIC_UIE_TRY
    }
};

}  // namespace

bool same_name(const char* one, const char* other) { return std::strcmp(one, other) == 0; }

bool can_run(const char* instruction_set) { return supports(instruction_set); }

const char* const* instruction_sets() {
    static const Available found;
    return found.names;
}

}  // namespace pic_uie
