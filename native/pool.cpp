#include "pool.h"

#include <unistd.h>

#include <algorithm>
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
    }
    work_there_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
}

void Pool::drain(Batch& batch, int worker) {
    for (int64_t unit; (unit = batch.next.fetch_add(1, std::memory_order_relaxed)) < batch.units;)
        batch.work(batch.context, unit, worker);
}

void Pool::help() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_there_.wait(lock, [this] { return stopping_ || !batches_.empty(); });
        if (stopping_) return;
        Batch& batch = *batches_.front();
        const int worker = ++batch.joined;
        ++batch.active;
        if (--batch.wanted == 0) batches_.pop_front();
        lock.unlock();
        drain(batch, worker);
        lock.lock();
        if (--batch.active == 0) helper_done_.notify_all();
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
    }
    batch.wanted == 1 ? work_there_.notify_one() : work_there_.notify_all();
    drain(batch, 0);
    std::unique_lock lock(mutex_);
    auto waiting = std::find(batches_.begin(), batches_.end(), &batch);
    if (waiting != batches_.end()) batches_.erase(waiting);  // nobody need join any more
    helper_done_.wait(lock, [&batch] { return batch.active == 0; });
}

}  // namespace pic_uie
