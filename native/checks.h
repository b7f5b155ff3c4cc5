// What the core accepts: everything else is an error with a reason, before any work starts.
#pragma once

#include "pic_uie.h"

namespace pic_uie {

int64_t bytes_per_sample(Depth depth);
int64_t bytes_per_sample(const Yuv& frame);

Error check_picture(const Image& image);
Error check_picture(const Yuv& frame);
Error check_pair(const Image& image, const Image& out, float strength);
Error check_pair(const Yuv& frame, const Yuv& out, float strength);
Error check_part(const Image& image, int64_t x, int64_t y, const Image& out, float strength);
Error check_corrections(const Corrections& corrections);
Error check_memory(const CorrectionsOut& corrections);
Error check_statistics(const Statistics& statistics);
Error check_parameters(const Parameters& parameters);

// Whether writing to one leaves the other as it is.
bool apart(const Image& image, const Image& out);

// Row y of a float picture: are all colour samples in [0, 1]? NaN is not.
bool row_in_range(const Image& image, int64_t y);

// Row y as it is; of a frame with its chroma.
void copy_row(const Image& in, const Image& out, int64_t y);
void copy_row(const Yuv& in, const Yuv& out, int64_t y);

}  // namespace pic_uie
