// Which instruction sets were built, and which of them this machine can run.
#pragma once

#include "recipe.h"

namespace pic_uie {

// The kernels named `isa`, or the best ones for nullptr; nullptr when this machine cannot run them.
const Kernels* find_kernels(const char* isa);

}  // namespace pic_uie
