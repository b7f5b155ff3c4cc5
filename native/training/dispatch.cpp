#include "contract.h"

namespace pic_uie::training {
namespace {

#define PIC_UIE_FLOAT(set) {#set, &training_##set::float_kernels},
#define PIC_UIE_DOUBLE(set) {#set, &training_##set::double_kernels},
constexpr Variant<Kernels<float>> FLOAT[] = {PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_FLOAT)};
constexpr Variant<Kernels<double>> DOUBLE[] = {PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_DOUBLE)};
#undef PIC_UIE_FLOAT
#undef PIC_UIE_DOUBLE

}  // namespace

template <>
const Kernels<float>* find_kernels<float>(const char* instruction_set) {
    return choose(FLOAT, instruction_set);
}
template <>
const Kernels<double>* find_kernels<double>(const char* instruction_set) {
    return choose(DOUBLE, instruction_set);
}

}  // namespace pic_uie::training
