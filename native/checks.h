// What the core accepts: everything else is an error with a reason, before any work starts.
#pragma once

#include "pic_uie.h"

namespace pic_uie {

int64_t bytes_per_sample(Depth depth);

Error check_image(const Image& image);
Error check_pair(const Image& image, const Image& out, float strength);
Error check_corrections(const Corrections& corrections);
Error check_parameters(const Parameters& parameters);

// Row y of a float picture: are all colour samples in [0, 1]? NaN is not.
bool row_in_range(const Image& image, int64_t y);

}  // namespace pic_uie
