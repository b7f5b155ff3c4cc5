// Compiled once per instruction set; CMakeLists.txt names the set in PIC_UIE_ISA.
#include "body.h"
#include "calibrated.h"
#include "structure.h"

namespace PIC_UIE_ISA {

template <class T>
constexpr Kernels<T> table() {
  return {body<T>,   body_backward<T>,   correct<T>,   correct_backward<T>,
          finish<T>, finish_backward<T>, structure<T>, structure_backward<T>};
}

extern const Kernels<float> float_kernels = table<float>();
extern const Kernels<double> double_kernels = table<double>();

}  // namespace PIC_UIE_ISA
