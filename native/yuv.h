// Both passes for planar frames; compiled once per instruction set.
#pragma once

#include "kernel.h"

namespace PIC_UIE_ISA {

void first_pass_yuv(const pic_uie::YuvJob& job, int64_t unit, float* scratch);
void second_pass_yuv(const pic_uie::YuvJob& job, int64_t unit, float* scratch);

}  // namespace PIC_UIE_ISA
