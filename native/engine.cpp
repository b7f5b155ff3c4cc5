// Keeps buffers between calls, and walks a picture through the predictor and both passes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include "base/pool.h"
#include "buffer.h"
#include "checks.h"
#include "jobs.h"
#include "predictor.h"
#include "prepare.h"
#include "workspace.h"

namespace pic_uie {
namespace {

#define PIC_UIE_VARIANT(set) {#set, &set::kernels},
constexpr Variant<Kernels> VARIANTS[] = {PIC_UIE_EACH_INSTRUCTION_SET(PIC_UIE_VARIANT)};
#undef PIC_UIE_VARIANT

void first_pass(const Kernels& kernels, const Job& job, int64_t unit, float* scratch) {
    kernels.first_pass(job, unit, scratch);
}
void first_pass(const Kernels& kernels, const YuvJob& job, int64_t unit, float* scratch) {
    kernels.first_pass_yuv(job, unit, scratch);
}
void second_pass(const Kernels& kernels, const Job& job, int64_t unit, float* scratch) {
    kernels.second_pass(job, unit, scratch);
}
void second_pass(const Kernels& kernels, const YuvJob& job, int64_t unit, float* scratch) {
    kernels.second_pass_yuv(job, unit, scratch);
}

}  // namespace

struct Engine::Parts {
    const Kernels& kernels;
    Predictor predictor;
    RefinerWeights refiner;
    Pool pool;
    Workspaces workspaces;

    Parts(const Parameters& parameters, int threads, const Kernels& chosen)
        : kernels(chosen),
          predictor(parameters, chosen),
          refiner(parameters),
          pool(threads),
          workspaces(predictor, parameters.beta, parameters.gamma) {}

    Error check_samples(const Image& image, int threads) {
        if (depth_of(image) != Depth::f32) return {};
        std::atomic<bool> fine{true};
        pool.each(image.height, threads, [&](int64_t y, int) {
            if (!row_in_range(image, y)) fine.store(false, std::memory_order_relaxed);
        });
        return fine.load() ? Code::none : Code::bad_samples;
    }
    Error check_samples(const Yuv&, int) { return {}; }

    // Units of a job, and the scratch memory of each worker.
    struct Sweep {
        int64_t units, workers, floats;
        float* scratch;
        float* of(int worker) const { return scratch + worker * floats; }
    };
    Sweep start(Pass& pass, float strength, int threads, Workspace& workspace) {
        pass.strength = strength;
        pass.prepared = &workspace.prepared;
        Sweep sweep = {};
        sweep.units = pass.geometry.tiles * pass.geometry.strips;
        sweep.workers = std::min<int64_t>(threads, sweep.units);
        sweep.floats = (kernels.scratch_floats(pass.geometry) + 15) / 16 * 16;
        sweep.scratch = workspace.scratch.reserve(sweep.floats * sweep.workers, true);
        if (int64_t(workspace.sums.size()) < sweep.units) workspace.sums.resize(size_t(sweep.units));
        pass.sums = workspace.sums.data();
        return sweep;
    }

    // Both passes one after the other, with z¹ of the whole picture between them: where statistics must be known first, and
    // where the result overwrites the picture. The first pass alone where there is no `out`.
    template <class Picture>
    Statistics run(const Picture& picture, const Corrections& theta, const Statistics* given, const Picture* out,
                   float strength, int threads, Workspace& workspace) {
        prepare_corrections(theta, refiner, workspace.prepared);
        const int64_t pitch = picture.width < 64 ? picture.width : (picture.width + 15) / 16 * 16;
        auto job = job_for(picture, out ? *out : picture, workspace.prepared, kernels.lanes, pitch, workspace.z);
        const Sweep sweep = start(job, strength, threads, workspace);
        pool.each(sweep.units, threads,
                  [&](int64_t unit, int worker) { first_pass(kernels, job, unit, sweep.of(worker)); });
        const Statistics own = pic_uie::measure(job.sums, sweep.units, picture.height * picture.width);
        if (!out) return own;
        job.finish = calibrate(theta, given ? *given : own);
        pool.each(sweep.units, threads, [&](int64_t unit, int worker) {  // backwards: what was written last is cached
            second_pass(kernels, job, sweep.units - 1 - unit, sweep.of(worker));
        });
        return own;
    }

    // Both passes unit by unit, with z¹ of one unit a worker between them: of a part, with statistics that are known. The
    // first pass alone where there are none. Returns the statistics of the part.
    Statistics run_part(Job job, const Corrections& theta, const Statistics* given, float strength, int threads,
                        Workspace& workspace) {
        prepare_corrections(theta, refiner, workspace.prepared);
        const Sweep sweep = start(job, strength, threads, workspace);
        const Geometry& geometry = job.geometry;
        const int64_t floats = 3 * geometry.strip_height * job.pitch;
        float* z = workspace.z.reserve(floats * sweep.workers, false);
        if (given) job.finish = calibrate(theta, *given);
        pool.each(sweep.units, threads, [&](int64_t unit, int worker) {
            Job own = job;
            own.z = z + worker * floats;
            own.z_x = geometry.left + unit % geometry.tiles * geometry.tile_width;
            own.z_y = geometry.top + unit / geometry.tiles * geometry.strip_height;
            kernels.first_pass(own, unit, sweep.of(worker));
            if (given) kernels.second_pass(own, unit, sweep.of(worker));
        });
        return pic_uie::measure(job.sums, sweep.units, job.out.height * job.out.width);
    }

    Statistics measure(const Image& picture, const Corrections& theta, int threads, Workspace& workspace) {
        return run_part(part_of(picture, 0, 0, picture, kernels.lanes), theta, nullptr, 1.0f, threads, workspace);
    }
    Statistics measure(const Yuv& picture, const Corrections& theta, int threads, Workspace& workspace) {
        return run<Yuv>(picture, theta, nullptr, nullptr, 1.0f, threads, workspace);
    }
    Statistics execute(const Image& picture, const Corrections& theta, const Statistics* given, const Image& out,
                       float strength, int threads, Workspace& workspace) {
        if (!given || !apart(picture, out)) return run(picture, theta, given, &out, strength, threads, workspace);
        return run_part(part_of(picture, 0, 0, out, kernels.lanes), theta, given, strength, threads, workspace);
    }
    Statistics execute(const Yuv& picture, const Corrections& theta, const Statistics* given, const Yuv& out,
                       float strength, int threads, Workspace& workspace) {
        return run(picture, theta, given, &out, strength, threads, workspace);
    }

    template <class Picture>
    void copy(const Picture& picture, const Picture& out, int threads) {
        pool.each(picture.height, threads, [&](int64_t y, int) { copy_row(picture, out, y); });
    }

    int count(int threads) const { return threads > 0 ? std::min(threads, 256) : pool.threads(); }

    template <class Picture>
    Error predict(const Picture& picture, const CorrectionsOut& out, int threads) PIC_UIE_TRY {
        threads = count(threads);
        if (Error error = check_picture(picture)) return error;
        if (Error error = check_memory(out)) return error;
        if (Error error = check_samples(picture, threads)) return error;
        Workspaces::Borrowed workspace(workspaces);
        pic_uie::predict(predictor, kernels, picture, (*workspace).predictor_buffers, pool, threads, out);
        return {};
    }
    PIC_UIE_OUT_OF_MEMORY

    template <class Picture>
    Error measure(const Picture& picture, const Corrections& theta, Statistics& statistics, int threads) PIC_UIE_TRY {
        threads = count(threads);
        if (Error error = check_picture(picture)) return error;
        if (Error error = check_corrections(theta)) return error;
        if (Error error = check_samples(picture, threads)) return error;
        Workspaces::Borrowed workspace(workspaces);
        statistics = measure(picture, theta, threads, *workspace);
        return {};
    }
    PIC_UIE_OUT_OF_MEMORY

    template <class Picture>
    Error execute(const Picture& picture, const Corrections& theta, const Statistics* statistics, const Picture& out,
                  float strength, int threads, Statistics* own) PIC_UIE_TRY {
        threads = count(threads);
        if (Error error = check_pair(picture, out, strength)) return error;
        if (Error error = check_corrections(theta)) return error;
        if (Error error = statistics ? check_statistics(*statistics) : Error()) return error;
        if (Error error = check_samples(picture, threads)) return error;
        if (strength == 0.0f || changes_nothing(theta)) return copy(picture, out, threads), Error();
        Workspaces::Borrowed workspace(workspaces);
        const Statistics measured = execute(picture, theta, statistics, out, strength, threads, *workspace);
        if (own) *own = measured;
        return {};
    }
    PIC_UIE_OUT_OF_MEMORY

    Error execute_part(const Image& picture, const Corrections& theta, const Statistics& statistics, int64_t x,
                       int64_t y, const Image& out, float strength, int threads) PIC_UIE_TRY {
        threads = count(threads);
        if (Error error = check_part(picture, x, y, out, strength)) return error;
        if (Error error = check_corrections(theta)) return error;
        if (Error error = check_statistics(statistics)) return error;
        Image part = picture;
        part.data = static_cast<const char*>(picture.data) + y * picture.row_stride + x * picture.pixel_stride;
        part.height = out.height, part.width = out.width;
        if (Error error = check_samples(picture, threads)) return error;
        if (strength == 0.0f) return copy(part, out, threads), Error();
        Workspaces::Borrowed workspace(workspaces);
        run_part(part_of(picture, x, y, out, kernels.lanes), theta, &statistics, strength, threads, *workspace);
        return {};
    }
    PIC_UIE_OUT_OF_MEMORY

    template <class Picture>
    Error enhance(const Picture& picture, const Picture& out, float strength, int threads) PIC_UIE_TRY {
        threads = count(threads);
        if (Error error = check_pair(picture, out, strength)) return error;
        if (Error error = check_samples(picture, threads)) return error;
        if (strength == 0.0f) return copy(picture, out, threads), Error();
        Workspaces::Borrowed borrowed(workspaces);
        Workspace& workspace = *borrowed;
        const int side = predictor.side();
        pic_uie::predict(predictor, kernels, picture, workspace.predictor_buffers, pool, threads,
                         workspace.predicted(side));
        run<Picture>(picture, workspace.corrections(side, predictor.grid), nullptr, &out, strength, threads, workspace);
        return {};
    }
    PIC_UIE_OUT_OF_MEMORY
};

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

const char* Engine::instruction_set() const { return parts_->kernels.name; }
int Engine::threads() const { return parts_->pool.threads(); }

Error Engine::create(const Parameters& parameters, int threads, const char* instruction_set,
                     std::unique_ptr<Engine>& engine) PIC_UIE_TRY {
    if (threads < 1 || threads > 256) return Code::bad_threads;
    if (Error error = check_parameters(parameters)) return error;
    const Kernels* kernels = choose(VARIANTS, instruction_set);
    if (!kernels) return Code::no_instruction_set;
    engine.reset(new Engine(std::make_unique<Parts>(parameters, threads, *kernels)));
    return {};
}
PIC_UIE_OUT_OF_MEMORY

Error Engine::predict(const Image& picture, const CorrectionsOut& out, int threads) {
    return parts_->predict(picture, out, threads);
}
Error Engine::predict(const Yuv& picture, const CorrectionsOut& out, int threads) {
    return parts_->predict(picture, out, threads);
}

Error Engine::measure(const Image& picture, const Corrections& theta, Statistics& statistics, int threads) {
    return parts_->measure(picture, theta, statistics, threads);
}
Error Engine::measure(const Yuv& picture, const Corrections& theta, Statistics& statistics, int threads) {
    return parts_->measure(picture, theta, statistics, threads);
}

Error Engine::execute(const Image& picture, const Corrections& theta, const Statistics* statistics, const Image& out,
                      float strength, int threads, Statistics* own) {
    return parts_->execute(picture, theta, statistics, out, strength, threads, own);
}
Error Engine::execute(const Yuv& picture, const Corrections& theta, const Statistics* statistics, const Yuv& out,
                      float strength, int threads, Statistics* own) {
    return parts_->execute(picture, theta, statistics, out, strength, threads, own);
}

Error Engine::execute_part(const Image& picture, const Corrections& theta, const Statistics& statistics, int64_t x,
                           int64_t y, const Image& out, float strength, int threads) {
    return parts_->execute_part(picture, theta, statistics, x, y, out, strength, threads);
}

Error Engine::enhance(const Image& picture, const Image& out, float strength, int threads) {
    return parts_->enhance(picture, out, strength, threads);
}
Error Engine::enhance(const Yuv& picture, const Yuv& out, float strength, int threads) {
    return parts_->enhance(picture, out, strength, threads);
}

double peak_multiply_adds(const char* instruction_set, double seconds) {
    using Clock = std::chrono::steady_clock;
    const Kernels* kernels = choose(VARIANTS, instruction_set);
    if (!kernels) return 0.0;
    double best = 0.0, passed = 0.0;
    while (passed < seconds) {
        const Clock::time_point start = Clock::now();
        const double done = kernels->multiply_adds(100'000);
        const double took = std::chrono::duration<double>(Clock::now() - start).count();
        passed += took;
        if (took > 0.0 && done / took > best) best = done / took;
    }
    return best;
}

}  // namespace pic_uie
