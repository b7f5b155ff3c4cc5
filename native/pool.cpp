#include "pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace pic_uie {

long Pool::process_id() { return long(::getpid()); }

Pool::~Pool() {
    if (process_id() != process_) {  // a forked child has the objects but not the threads
        for (std::thread& helper : helpers_) helper.detach();
        return;
    }
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
        open_ = true;
    }
    work_there_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

void Pool::drain(Batch& batch, int worker) {
    for (int64_t unit; (unit = batch.next.fetch_add(1, std::memory_order_relaxed)) < batch.units;)
        batch.work(batch.context, unit, worker);
}

// A call is a dozen short batches: waking a thread for each would cost more than some of them, so threads look around
// for a moment before they sleep.
template <typename Condition>
void Pool::linger(Condition done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (!done() && std::chrono::steady_clock::now() < end) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
}

void Pool::help() {
    std::unique_lock lock(mutex_, std::defer_lock);
    for (;;) {
        linger([this] { return open_.load(std::memory_order_relaxed); });
        lock.lock();
        work_there_.wait(lock, [this] { return stopping_ || !batches_.empty(); });
        if (stopping_) return;
        Batch& batch = *batches_.front();
        const int worker = ++batch.joined;
        ++batch.active;
        if (--batch.wanted == 0) {
            batches_.pop_front();
            open_ = !batches_.empty();
        }
        lock.unlock();
        drain(batch, worker);
        lock.lock();
        if (--batch.active == 0) helper_done_.notify_all();
        lock.unlock();
    }
}

void Pool::start_helpers(int count) {
    try {
        while (int(helpers_.size()) < count) helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // fewer threads: slower, same result
    }
}

void Pool::run(int64_t units, int threads, Work work, void* context) {
    Batch batch{work, context, units, {}, int(std::min<int64_t>(threads, units)) - 1};
    if (batch.wanted < 1 || process_id() != process_) return drain(batch, 0);
    {
        std::lock_guard lock(mutex_);
        start_helpers(batch.wanted);
        batches_.push_back(&batch);
        open_ = true;
    }
    batch.wanted == 1 ? work_there_.notify_one() : work_there_.notify_all();
    drain(batch, 0);
    std::unique_lock lock(mutex_);
    auto waiting = std::find(batches_.begin(), batches_.end(), &batch);
    if (waiting != batches_.end()) {  // nobody need join any more
        batches_.erase(waiting);
        open_ = !batches_.empty();
    }
    lock.unlock();
    linger([&batch] { return batch.active == 0; });
    lock.lock();
    helper_done_.wait(lock, [&batch] { return batch.active == 0; });
}

}  // namespace pic_uie
