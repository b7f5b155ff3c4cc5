// Compiled once per instruction set; CMakeLists.txt names the set in PIC_UIE_ISA.
#include "body.h"
#include "correct.h"
#include "finish.h"
#include "structure.h"

namespace PIC_UIE_ISA {

namespace {

template <class T>
constexpr pic_uie::training::Kernels<T> table() noexcept {
    return {body<T>,   body_backward<T>,   correct<T>,   correct_backward<T>,
            finish<T>, finish_backward<T>, structure<T>, structure_backward<T>};
}

}  // namespace

const pic_uie::training::Kernels<float> float_kernels = table<float>();
const pic_uie::training::Kernels<double> double_kernels = table<double>();

}  // namespace PIC_UIE_ISA
