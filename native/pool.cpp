#include "pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

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

}  // namespace

Pool::Pool(int threads) : process_(process_id()), threads_(threads), shared_(std::make_unique<Shared>()) {}

long Pool::process_id() { return long(::getpid()); }

Pool::~Pool() {
    if (process_id() != process_) {  // a forked child has no helpers, and locks that they may have held: leave them be
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

void Pool::drain(Batch& batch, int worker) {
    for (int64_t unit; (unit = batch.next.fetch_add(1, std::memory_order_relaxed)) < batch.units;)
        batch.work(batch.context, unit, worker);
}

void Pool::help(Shared& shared) {
    std::unique_lock lock(shared.mutex, std::defer_lock);
    for (;;) {
        linger([&] { return shared.open.load(std::memory_order_relaxed); });
        lock.lock();
        shared.work_there.wait(lock, [&] { return shared.stopping || !shared.batches.empty(); });
        if (shared.stopping) return;
        Batch& batch = *shared.batches.front();
        const int worker = ++batch.joined;
        ++batch.active;
        if (--batch.wanted == 0) {
            shared.batches.erase(shared.batches.begin());
            shared.open = !shared.batches.empty();
        }
        lock.unlock();
        drain(batch, worker);
        lock.lock();
        if (--batch.active == 0) shared.helper_done.notify_all();
        lock.unlock();
    }
}

void Pool::start_helpers(Shared& shared, int count) {
    try {
        while (int(shared.helpers.size()) < count) shared.helpers.emplace_back([&shared] { help(shared); });
    } catch (const std::system_error&) {  // fewer threads: slower, same result
    }
}

void Pool::run(int64_t units, int threads, Work work, void* context) {
    Batch batch{work, context, units, {}, int(std::min<int64_t>(threads, units)) - 1};
    const int wanted = batch.wanted;
    if (wanted < 1 || process_id() != process_) return drain(batch, 0);
    Shared& shared = *shared_;
    {
        std::lock_guard lock(shared.mutex);
        start_helpers(shared, wanted);
        shared.batches.push_back(&batch);
        shared.open = true;
    }
    wanted == 1 ? shared.work_there.notify_one() : shared.work_there.notify_all();
    drain(batch, 0);
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
