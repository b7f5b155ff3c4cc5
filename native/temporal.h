// Time: which frame begins a new scene, and θ smoothed over the frames before it. For streams and for the page; files, which
// can look ahead, use `is_cut` with their own filter.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "pic_uie.h"

namespace pic_uie {

constexpr int SCENE_GRID = 12;   // blocks a side
constexpr int FLASH_FRAMES = 3;  // what looks again as before within so many frames was a flash, not a cut
constexpr int SCENE_HISTORY = FLASH_FRAMES + 2;  // frames before a frame that decide on it, and the frame

// A frame as mean luma and chroma of its blocks, 0 to 1; whatever its size, bits and matrix.
struct Scene {
    float means[3 * SCENE_GRID * SCENE_GRID];
};

Error describe(const Yuv& frame, Scene& scene);
Error describe(const Image& frame, Scene& scene);

// The mean absolute difference of two scenes, chroma counting as much as luma.
float distance(const Scene& a, const Scene& b);

// Whether a new scene begins at frame `index` of `count` consecutive ones. The frames before it tell motion and flashes that
// end here from cuts; those behind it, where there are any, flashes that begin here. At most FLASH_FRAMES + 1 frames before and
// FLASH_FRAMES frames behind matter.
bool is_cut(const Scene* scenes, int count, int index);

// An exponential mean of θ over `frames` frames that knows the past alone. A cut starts it anew; behind a flash it continues
// where it was.
class CausalFilter {
  public:
    // `size` numbers of θ, 1 to 2^26; `frames` at least 1.
    static Error create(int64_t size, double frames, std::unique_ptr<CausalFilter>& filter);
    ~CausalFilter();
    CausalFilter(const CausalFilter&) = delete;
    CausalFilter& operator=(const CausalFilter&) = delete;

    // θ of the next frame in, smoothed θ out; they may be the same memory. Returns whether the frame is the first of a scene.
    bool push(const Scene& scene, const float* theta, float* smoothed);

  private:
    struct State;
    explicit CausalFilter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pic_uie
