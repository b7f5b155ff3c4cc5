// The predictor's body, row by row; compiled once per instruction set.
#pragma once

#include "kernel.h"

namespace PIC_UIE_ISA {

void convolve_row(const pic_uie::Convolution& layer, int row);
void normalise_row(const pic_uie::Normalisation& map, int row);

}  // namespace PIC_UIE_ISA
