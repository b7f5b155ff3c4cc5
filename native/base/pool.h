// A thread pool of our own: no OpenMP runtime to clash with PyTorch's, safe to use from many threads at once.
#pragma once

#include <cstdint>
#include <memory>

namespace pic_uie {

// A lock for what several calls share; nothing where there are no threads.
class Mutex {
  public:
    Mutex();
    ~Mutex();
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    void lock();
    void unlock();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

class Guard {
  public:
    explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Guard() { mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

  private:
    Mutex& mutex_;
};

class Pool {
  public:
    explicit Pool(int threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int threads() const { return threads_; }

    // Calls work(context, unit, worker) once for each unit in [0, units), on the caller (worker 0) and on at most
    // threads - 1 helpers (workers 1 ..). Returns when all are done. Helpers are started when first asked for; those that
    // the system refuses to start are done without, and after a fork the caller works alone: slower, same result.
    using Work = void (*)(void* context, int64_t unit, int worker);
    void run(int64_t units, int threads, Work work, void* context);

    template <typename Function>
    void each(int64_t units, int threads, Function&& function) {
        run(
            units, threads, [](void* f, int64_t unit, int worker) { (*static_cast<Function*>(f))(unit, worker); },
            &function);
    }

  private:
    struct Batch;
    struct Shared;
    const int threads_;
    std::unique_ptr<Shared> shared_;
};

}  // namespace pic_uie
