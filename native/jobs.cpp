#include "jobs.h"

#include "prepare.h"

namespace pic_uie {
namespace {

Geometry units_of(int64_t height, int64_t width, int lanes) {
    return cut(height, width, lanes, 640, 64);  // near the first caches, with little redundant halo
}

}  // namespace

Job part_of(const Image& image, int64_t x, int64_t y, const Image& out, int lanes) {
    Job job = {};
    const int64_t top = y / 2 * 2, bottom = y + out.height;
    job.geometry = units_of(bottom - top, out.width, lanes);
    job.geometry.height = image.height, job.geometry.width = image.width;
    job.geometry.top = top, job.geometry.left = x;
    job.geometry.bottom = bottom, job.geometry.right = x + out.width;
    job.image = image, job.out = out;
    job.out_x = x, job.out_y = y;
    job.pitch = job.geometry.tile_width;
    return job;
}

Job job_for(const Image& image, const Image& out, const Prepared&, int lanes, int64_t pitch, Buffer& memory) {
    Job job = {};
    job.geometry = units_of(image.height, image.width, lanes);
    job.image = image, job.out = out;
    job.pitch = pitch;
    job.z = memory.reserve(3 * image.height * pitch, false);
    return job;
}

// Frames have rows of a third of the size, so their units may be larger; in fixed point once more. The number of strips is
// even, so that two threads have as many each.
YuvJob job_for(const Yuv& frame, const Yuv& out, const Prepared& prepared, int lanes, int64_t pitch, Buffer& memory) {
    YuvJob job = {};
    job.fixed = prepared.fixed.error * double((1 << frame.bits) - 1) <= 0.5;  // half a level of the frame
    const int64_t strips = 2 * ((frame.height + 287) / 288);
    job.geometry = cut(frame.height, frame.width, job.fixed ? 2 * lanes : lanes, job.fixed ? 1920 : 960,
                       (frame.height + strips - 1) / strips);
    job.image = frame, job.out = out;
    job.maps = map_yuv(frame);
    job.pitch = pitch;
    job.chroma_pitch = (pitch + 1) / 2;
    const int64_t chroma_rows = (frame.height + 1) / 2,
                  luma = job.fixed ? (frame.height * pitch + 1) / 2 : frame.height * pitch;
    const int64_t beyond = 64;  // the second pass reads whole vectors
    job.chroma = memory.reserve(2 * chroma_rows * job.chroma_pitch + luma + beyond, false);
    job.luma = job.chroma + 2 * chroma_rows * job.chroma_pitch;
    return job;
}

}  // namespace pic_uie
