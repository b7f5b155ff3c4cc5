#include "pool.h"

#if defined(__wasm__)

#include <atomic>

namespace pic_uie {

// Only one thread ever calls in; helpers, where there are any, are workers that share the memory and sit in `help`.
struct Mutex::Impl {};
Mutex::Mutex() = default;
Mutex::~Mutex() = default;
void Mutex::lock() {}
void Mutex::unlock() {}

struct Pool::Batch {};
struct Pool::Shared {};
Pool::Pool(int threads) : threads_(threads) {}
Pool::~Pool() = default;

#if defined(__wasm_atomics__)

namespace {

struct Batch {
    Pool::Work work;
    void* context;
    int64_t units;
    std::atomic<int> next{0}, places{0}, joined{0}, active{0};
    int number = 0;  // of batches so far: what helpers wait for to change

    void drain(int worker) {
        for (int unit; (unit = next.fetch_add(1)) < units;) work(context, unit, worker);
    }
};
Batch batch;

}  // namespace

extern "C" __attribute__((export_name("help"))) void help() {
    for (int seen = 0;;) {
        const int number = __atomic_load_n(&batch.number, __ATOMIC_SEQ_CST);
        if (number == seen) {
            __builtin_wasm_memory_atomic_wait32(&batch.number, number, -1);
            continue;
        }
        seen = number;
        ++batch.active;
        if (batch.places.fetch_sub(1) > 0) batch.drain(++batch.joined);
        if (--batch.active == 0) __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&batch.active), 1);
    }
}

void Pool::run(int64_t units, int threads, Work work, void* context) {
    const int wanted = threads < units ? threads - 1 : int(units) - 1;
    batch.work = work, batch.context = context, batch.units = units;
    batch.next = 0, batch.joined = 0, batch.places = wanted;
    if (wanted > 0) {
        __atomic_add_fetch(&batch.number, 1, __ATOMIC_SEQ_CST);
        __builtin_wasm_memory_atomic_notify(&batch.number, unsigned(wanted));
    }
    batch.drain(0);
    batch.places = 0;  // nobody need join any more
    for (int active; (active = batch.active) != 0;)
        __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&batch.active), active, 1'000'000);
}

#else

void Pool::run(int64_t units, int, Work work, void* context) {
    for (int64_t unit = 0; unit < units; ++unit) work(context, unit, 0);
}

#endif

}  // namespace pic_uie

#else

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace pic_uie {
namespace {

// A call is a dozen short batches: waking a thread for each would cost more than some of them, so threads look around
// for a moment before they sleep.
template <typename Condition>
void linger(Condition done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (!done() && std::chrono::steady_clock::now() < end) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
}

long process_id() {
#if defined(_WIN32)  // nothing forks there
    return 0;
#else
    return long(::getpid());
#endif
}

}  // namespace

struct Mutex::Impl {
    std::mutex mutex;
};
Mutex::Mutex() : impl_(std::make_unique<Impl>()) {}
Mutex::~Mutex() = default;
void Mutex::lock() { impl_->mutex.lock(); }
void Mutex::unlock() { impl_->mutex.unlock(); }

struct Pool::Batch {
    Work work;
    void* context;
    int64_t units;
    std::atomic<int64_t> next{0};
    int wanted;                  // helpers that may still join
    int joined = 0;              // helpers that have joined
    std::atomic<int> active{0};  // helpers at work

    Batch(Work w, void* c, int64_t n, int helpers) : work(w), context(c), units(n), wanted(helpers) {}

    void drain(int worker) {
        for (int64_t unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < units;) work(context, unit, worker);
    }
};

struct Pool::Shared {
    const long process = process_id();
    std::mutex mutex;
    std::condition_variable work_there, helper_done;
    std::vector<Batch*> batches;
    std::atomic<bool> open{false};  // batches is not empty, or the pool is stopping
    std::vector<std::thread> helpers;
    bool stopping = false;

    void help();
    void start_helpers(int count);
};

Pool::Pool(int threads) : threads_(threads), shared_(std::make_unique<Shared>()) {}

Pool::~Pool() {
    if (process_id() !=
        shared_->process) {  // a forked child has no helpers, and locks that they may have held: leave them be
        static_cast<void>(shared_.release());
        return;
    }
    {
        std::lock_guard lock(shared_->mutex);
        shared_->stopping = true;
        shared_->open = true;
    }
    shared_->work_there.notify_all();
    for (std::thread& helper : shared_->helpers) helper.join();
}

void Pool::Shared::help() {
    std::unique_lock lock(mutex, std::defer_lock);
    for (;;) {
        linger([&] { return open.load(std::memory_order_relaxed); });
        lock.lock();
        work_there.wait(lock, [&] { return stopping || !batches.empty(); });
        if (stopping) return;
        Batch& batch = *batches.front();
        const int worker = ++batch.joined;
        ++batch.active;
        if (--batch.wanted == 0) {
            batches.erase(batches.begin());
            open = !batches.empty();
        }
        lock.unlock();
        batch.drain(worker);
        lock.lock();
        if (--batch.active == 0) helper_done.notify_all();
        lock.unlock();
    }
}

void Pool::Shared::start_helpers(int count) {
    try {
        while (int(helpers.size()) < count) helpers.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // fewer threads
    }
}

void Pool::run(int64_t units, int threads, Work work, void* context) {
    Batch batch(work, context, units, int(std::min<int64_t>(threads, units)) - 1);
    const int wanted = batch.wanted;
    if (wanted < 1 || process_id() != shared_->process) return batch.drain(0);
    Shared& shared = *shared_;
    {
        std::lock_guard lock(shared.mutex);
        shared.start_helpers(wanted);
        shared.batches.push_back(&batch);
        shared.open = true;
    }
    wanted == 1 ? shared.work_there.notify_one() : shared.work_there.notify_all();
    batch.drain(0);
    std::unique_lock lock(shared.mutex);
    auto waiting = std::find(shared.batches.begin(), shared.batches.end(), &batch);
    if (waiting != shared.batches.end()) {  // nobody need join any more
        shared.batches.erase(waiting);
        shared.open = !shared.batches.empty();
    }
    lock.unlock();
    linger([&] { return batch.active == 0; });
    lock.lock();
    shared.helper_done.wait(lock, [&] { return batch.active == 0; });
}

}  // namespace pic_uie

#endif
