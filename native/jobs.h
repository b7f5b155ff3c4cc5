// A picture as a job for the kernels: cut into units, with the place where z¹ stays between the passes.
#pragma once

#include "buffer.h"
#include "kernel.h"

namespace pic_uie {

// All of a picture, with memory for all of its z¹ (of a frame: Y² and q¹), `pitch` apart from row to row.
Job job_for(const Image& image, const Image& out, const Prepared& prepared, int lanes, int64_t pitch, Buffer& memory);
YuvJob job_for(const Yuv& frame, const Yuv& out, const Prepared& prepared, int lanes, int64_t pitch, Buffer& memory);

// The part of a picture that begins at (x, y) and is as large as `out`; z¹ of a unit is `pitch` apart and has no place yet.
Job part_of(const Image& image, int64_t x, int64_t y, const Image& out, int lanes);

}  // namespace pic_uie
