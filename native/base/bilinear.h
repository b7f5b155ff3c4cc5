// Bilinear resampling along one axis: half-pixel centres, clamped at the edges (align_corners=False, no antialiasing).
// The thumbnail shrinks with it, the fields t, v, a grow with it, and training does both, each in its own precision.
#pragma once

#include <cstdint>

namespace pic_uie {

// Position p of a line resampled from `size` to `target` samples lies between `left` and `right`, at `fraction`.
template <class Real>
struct Between {
    int64_t left, right;
    Real fraction;
};

namespace {  // the function is compiled for many instruction sets: no two of them may share it

template <class Real>
inline __attribute__((always_inline)) Between<Real> between(int64_t position, int64_t size, int64_t target) {
    Real at = (Real(position) + Real(0.5)) * Real(size) / Real(target) - Real(0.5);
    if (!(at > Real(0))) at = Real(0);
    const int64_t whole = int64_t(at), left = whole < size - 1 ? whole : size - 1;
    return {left, left + 1 < size ? left + 1 : left, at - Real(left)};
}

}  // namespace
}  // namespace pic_uie
