// Keeps buffers between calls, and walks an image through the predictor and both passes.
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "checks.h"
#include "isa.h"
#include "pool.h"
#include "predictor.h"
#include "prepare.h"

namespace pic_uie {
namespace {

constexpr Error OUT_OF_MEMORY = "not enough memory for a picture of this size";

struct Free {
    void operator()(void* p) const { std::free(p); }
};

// Aligned floats that only ever grow.
class Buffer {
  public:
    float* reserve(int64_t count, bool cleared) {
        if (count > capacity_) {
            capacity_ = 0;
            memory_.reset();
            constexpr size_t page = size_t(1) << 21;  // large pages: fewer misses in the address translation
            const size_t bytes = (size_t(count) * sizeof(float) + page - 1) / page * page;
            memory_.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
            if (!memory_) throw std::bad_alloc();
#if defined(__linux__)
            madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a wish; nothing depends on it
#endif
            if (cleared) std::memset(memory_.get(), 0, bytes);
            capacity_ = count;
        }
        return memory_.get();
    }

  private:
    std::unique_ptr<float[], Free> memory_;
    int64_t capacity_ = 0;
};

void copy_row(const Image& in, const Image& out, int64_t y) {
    const int64_t size = bytes_per_sample(in.depth);
    const char* p = static_cast<const char*>(in.data) + y * in.row_stride;
    char* q = const_cast<char*>(static_cast<const char*>(out.data)) + y * out.row_stride;
    const bool packed = in.channel_stride == size && in.pixel_stride == size * in.channels &&
                        out.channel_stride == size && out.pixel_stride == size * out.channels;
    if (packed) {
        std::memmove(q, p, size_t(in.width * in.pixel_stride));
        return;
    }
    for (int64_t x = 0; x < in.width; ++x)
        for (int c = 0; c < in.channels; ++c)
            std::memmove(q + x * out.pixel_stride + c * out.channel_stride,
                         p + x * in.pixel_stride + c * in.channel_stride, size_t(size));
}

// Everything a call needs beyond its arguments.
struct Workspace {
    explicit Workspace(const Predictor& predictor)
        : predictor_buffers(predictor),
          field(size_t(3) * (predictor.thumbnail / constants::DOWNSAMPLING) * (predictor.thumbnail / constants::DOWNSAMPLING)),
          lut(size_t(2) * predictor.grid * predictor.grid) {}

    PredictorBuffers predictor_buffers;
    std::vector<float> field, lut;
    float tone[constants::TONE_INCREMENTS + 1], affine[12], covariance[13];
    Recipe recipe = {};
    Buffer z, scratch;
    std::vector<Sums> sums;
};

}  // namespace

struct Engine::Parts {
    const Kernels& kernels;
    Predictor predictor;
    Refiner refiner;
    float beta, gamma;
    Pool pool;
    std::mutex mutex;
    std::vector<std::unique_ptr<Workspace>> idle;

    Parts(const Parameters& parameters, int threads, const Kernels& chosen)
        : kernels(chosen), predictor(parameters, chosen), beta(parameters.beta), gamma(parameters.gamma), pool(threads) {
        prepare_refiner(parameters, refiner);
    }

    std::unique_ptr<Workspace> take() {
        {
            std::lock_guard lock(mutex);
            if (!idle.empty()) {
                std::unique_ptr<Workspace> workspace = std::move(idle.back());
                idle.pop_back();
                return workspace;
            }
        }
        auto workspace = std::make_unique<Workspace>(predictor);
        workspace->recipe.refiner = refiner;
        workspace->recipe.beta = beta;
        workspace->recipe.gamma = gamma;
        return workspace;
    }

    void give_back(std::unique_ptr<Workspace> workspace) {
        std::lock_guard lock(mutex);
        idle.push_back(std::move(workspace));
    }

    Error check_samples(const Image& image, int threads) {
        if (image.depth != Depth::f32) return nullptr;
        std::atomic<bool> fine{true};
        pool.each(image.height, threads, [&](int64_t y, int) {
            if (!row_in_range(image, y)) fine.store(false, std::memory_order_relaxed);
        });
        return fine.load() ? nullptr : "samples must be finite and in [0, 1]";
    }

    void execute(const Image& image, const Corrections& theta, const Image& out, float strength, int threads,
                 Workspace& workspace) {
        Job job = {};
        job.image = image, job.out = out, job.strength = strength;
        job.recipe = &workspace.recipe;
        prepare_recipe(theta, workspace.recipe);
        job.geometry = cut(image.height, image.width, kernels.lanes);
        const int64_t units = job.geometry.tiles * job.geometry.strips;
        const int64_t scratch_floats = (kernels.scratch_floats(job.geometry) + 15) / 16 * 16;
        job.pitch = image.width < 64 ? image.width : (image.width + 15) / 16 * 16;
        job.z = workspace.z.reserve(3 * image.height * job.pitch, false);
        const int64_t workers = std::min<int64_t>(threads, units);
        float* scratch = workspace.scratch.reserve(scratch_floats * workers, true);
        if (int64_t(workspace.sums.size()) < units) workspace.sums.resize(size_t(units));
        job.sums = workspace.sums.data();

        pool.each(units, threads, [&](int64_t unit, int worker) {
            kernels.first_pass(job, unit, scratch + worker * scratch_floats);
        });
        job.finish = calibrate(theta, job.sums, units, image.height * image.width);
        pool.each(units, threads, [&](int64_t unit, int worker) {  // backwards: what was written last is still cached
            kernels.second_pass(job, units - 1 - unit, scratch + worker * scratch_floats);
        });
    }

    void copy(const Image& image, const Image& out, int threads) {
        pool.each(image.height, threads, [&](int64_t y, int) { copy_row(image, out, y); });
    }

    int count(int threads) const { return threads > 0 ? std::min(threads, 256) : pool.threads(); }
};

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

const char* Engine::instruction_set() const { return parts_->kernels.name; }
int Engine::threads() const { return parts_->pool.threads(); }

Error Engine::create(const Parameters& parameters, int threads, const char* isa, std::unique_ptr<Engine>& engine) try {
    if (threads < 1 || threads > 256) return "threads must be 1 to 256";
    if (Error error = check_parameters(parameters)) return error;
    const Kernels* kernels = find_kernels(isa);
    if (!kernels) return "this machine cannot run that instruction set";
    engine.reset(new Engine(std::make_unique<Parts>(parameters, threads, *kernels)));
    return nullptr;
} catch (const std::bad_alloc&) {
    return OUT_OF_MEMORY;
}

Error Engine::predict(const Image& image, const CorrectionsOut& out, int threads) try {
    Parts& parts = *parts_;
    threads = parts.count(threads);
    if (Error error = check_image(image)) return error;
    if (!out.t || !out.v || !out.a || !out.tone || !out.lut || !out.affine || !out.covariance)
        return "the corrections have no memory";
    if (Error error = parts.check_samples(image, threads)) return error;
    std::unique_ptr<Workspace> workspace = parts.take();
    pic_uie::predict(parts.predictor, parts.kernels, image, workspace->predictor_buffers, parts.pool, threads, out);
    parts.give_back(std::move(workspace));
    return nullptr;
} catch (const std::bad_alloc&) {
    return OUT_OF_MEMORY;
}

Error Engine::execute(const Image& image, const Corrections& theta, const Image& out, float strength, int threads) try {
    Parts& parts = *parts_;
    threads = parts.count(threads);
    if (Error error = check_pair(image, out, strength)) return error;
    if (Error error = check_corrections(theta)) return error;
    if (Error error = parts.check_samples(image, threads)) return error;
    if (strength == 0.0f) return parts.copy(image, out, threads), nullptr;
    std::unique_ptr<Workspace> workspace = parts.take();
    parts.execute(image, theta, out, strength, threads, *workspace);
    parts.give_back(std::move(workspace));
    return nullptr;
} catch (const std::bad_alloc&) {
    return OUT_OF_MEMORY;
}

Error Engine::enhance(const Image& image, const Image& out, float strength, int threads) try {
    Parts& parts = *parts_;
    threads = parts.count(threads);
    if (Error error = check_pair(image, out, strength)) return error;
    if (Error error = parts.check_samples(image, threads)) return error;
    if (strength == 0.0f) return parts.copy(image, out, threads), nullptr;
    std::unique_ptr<Workspace> workspace = parts.take();
    Workspace& w = *workspace;
    const int side = parts.predictor.thumbnail / constants::DOWNSAMPLING, samples = side * side;
    const CorrectionsOut predicted = {w.field.data(), w.field.data() + samples, w.field.data() + 2 * samples, w.tone,
                                      w.lut.data(),   w.affine,                 w.covariance};
    pic_uie::predict(parts.predictor, parts.kernels, image, w.predictor_buffers, parts.pool, threads, predicted);
    Corrections theta = {predicted.t, predicted.v, predicted.a, side, side, w.tone, constants::TONE_INCREMENTS + 1,
                         w.lut.data(), parts.predictor.grid, {}, {}, {}, {}, w.covariance[12]};
    std::copy(w.affine, w.affine + 9, theta.matrix);
    std::copy(w.affine + 9, w.affine + 12, theta.bias);
    std::copy(w.covariance, w.covariance + 3, theta.mean);
    std::copy(w.covariance + 3, w.covariance + 12, theta.recolor);
    parts.execute(image, theta, out, strength, threads, w);
    parts.give_back(std::move(workspace));
    return nullptr;
} catch (const std::bad_alloc&) {
    return OUT_OF_MEMORY;
}

}  // namespace pic_uie
