// The buffers of a call, kept between calls.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/pool.h"
#include "buffer.h"
#include "predictor.h"
#include "prepare.h"

namespace pic_uie {

// Everything a call needs beyond its arguments.
struct Workspace {
    explicit Workspace(const Predictor& predictor)
        : predictor_buffers(predictor),
          field(3 * size_t(predictor.side()) * size_t(predictor.side())),
          lut(2 * size_t(predictor.grid) * size_t(predictor.grid)) {}

    PredictorBuffers predictor_buffers;
    std::vector<float> field, lut;
    float tone[constants::TONE_INCREMENTS + 1], affine[12], covariance[13];
    Prepared prepared = {};
    Buffer z, scratch;
    std::vector<Sums> sums;

    CorrectionsOut predicted(int side) {
        const int64_t samples = int64_t(side) * side;
        return {field.data(), field.data() + samples, field.data() + 2 * samples, tone, lut.data(), affine, covariance};
    }
    Corrections corrections(int side, int grid) {
        const CorrectionsOut p = predicted(side);
        Corrections theta = {p.t,        p.v,  p.a, side, side, tone, constants::TONE_INCREMENTS + 1,
                             lut.data(), grid, {},  {},   {},   {},   covariance[12]};
        std::copy_n(affine, 9, theta.matrix);
        std::copy_n(affine + 9, 3, theta.bias);
        std::copy_n(covariance, 3, theta.mean);
        std::copy_n(covariance + 3, 9, theta.recolor);
        return theta;
    }
};

// As many workspaces as calls were ever under way at a time.
class Workspaces {
  public:
    Workspaces(const Predictor& predictor, float beta, float gamma)
        : predictor_(predictor), beta_(beta), gamma_(gamma) {}

    // One of them for the length of a call, and back to the others after it.
    class Borrowed {
      public:
        explicit Borrowed(Workspaces& owner) : owner_(owner), workspace_(owner.take()) {}
        ~Borrowed() {
            Guard lock(owner_.mutex_);
            owner_.idle_.push_back(std::move(workspace_));  // never allocates: `take` made room
        }
        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;
        Workspace& operator*() { return *workspace_; }

      private:
        Workspaces& owner_;
        std::unique_ptr<Workspace> workspace_;
    };

  private:
    std::unique_ptr<Workspace> take() {
        {
            Guard lock(mutex_);
            if (!idle_.empty()) {
                std::unique_ptr<Workspace> workspace = std::move(idle_.back());
                idle_.pop_back();
                return workspace;
            }
            idle_.reserve(size_t(++count_));
        }
        auto workspace = std::make_unique<Workspace>(predictor_);
        workspace->prepared.beta = beta_;
        workspace->prepared.gamma = gamma_;
        return workspace;
    }

    const Predictor& predictor_;
    const float beta_, gamma_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Workspace>> idle_;
    int count_ = 0;
};

}  // namespace pic_uie
