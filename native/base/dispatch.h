// The instruction sets that the kernels are compiled for, and which of them this machine can run.
#pragma once

namespace pic_uie {

// Best first; CMakeLists.txt compiles the same ones.
#if defined(PIC_UIE_ONLY_avx2)
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(avx2)
#elif defined(PIC_UIE_ONLY_baseline)
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(baseline)
#elif defined(__x86_64__) || defined(_M_X64)
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(avx512) X(avx2) X(baseline)
#elif defined(__aarch64__) || defined(_M_ARM64)
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(neon)
#elif defined(__wasm__)
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(simd128)
#else
#define PIC_UIE_EACH_INSTRUCTION_SET(X) X(generic)
#endif

// Names of the instruction sets this machine can run, best first, ending in nullptr.
const char* const* instruction_sets();

bool can_run(const char* instruction_set);
bool same_name(const char* one, const char* other);

template <class Table>
struct Variant {
    const char* name;
    const Table* table;
};

// The table named `wanted`, or the best for nullptr; nullptr when this machine cannot run it.
template <class Table, int N>
const Table* choose(const Variant<Table> (&variants)[N], const char* wanted) {
    for (const Variant<Table>& variant : variants)
        if (can_run(variant.name) && (!wanted || same_name(wanted, variant.name))) return variant.table;
    return nullptr;
}

}  // namespace pic_uie
