// A thread pool of our own: no OpenMP runtime to clash with PyTorch's, safe to use from many threads at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace pic_uie {

class Pool {
  public:
    explicit Pool(int threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int threads() const { return threads_; }

    // Calls work(context, unit, worker) once for each unit in [0, units), on the caller (worker 0) and on at most
    // threads - 1 helpers (workers 1 ..). Returns when all are done. Helpers are started when first asked for; if the
    // system refuses to start one, or after a fork, the caller works alone.
    using Work = void (*)(void* context, int64_t unit, int worker);
    void run(int64_t units, int threads, Work work, void* context);

    template <typename Function>
    void each(int64_t units, int threads, Function&& function) {
        run(units, threads, [](void* f, int64_t unit, int worker) { (*static_cast<Function*>(f))(unit, worker); },
            &function);
    }

  private:
    struct Batch {
        Work work;
        void* context;
        int64_t units;
        std::atomic<int64_t> next{0};
        int wanted;                  // helpers that may still join
        int joined = 0;              // helpers that have joined
        std::atomic<int> active{0};  // helpers at work
    };
    struct Shared {
        std::mutex mutex;
        std::condition_variable work_there, helper_done;
        std::vector<Batch*> batches;
        std::atomic<bool> open{false};  // batches is not empty, or the pool is stopping
        std::vector<std::thread> helpers;
        bool stopping = false;
    };
    static long process_id();
    static void drain(Batch& batch, int worker);
    static void help(Shared& shared);
    static void start_helpers(Shared& shared, int count);

    const long process_;
    const int threads_;
    std::unique_ptr<Shared> shared_;
};

}  // namespace pic_uie
