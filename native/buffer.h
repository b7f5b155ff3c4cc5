// Aligned floats that only ever grow, kept between calls.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace pic_uie {

class Buffer {
  public:
    // Room for `count` floats, zero where it is new and `cleared`. Throws std::bad_alloc.
    float* reserve(int64_t count, bool cleared) {
        if (count > capacity_) {
            capacity_ = 0;
            memory_.reset();
            const size_t bytes = (size_t(count) * sizeof(float) + PAGE - 1) / PAGE * PAGE;
            memory_.reset(static_cast<float*>(::operator new(bytes, std::align_val_t(PAGE))));
#if defined(__linux__)
            madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a wish; nothing depends on it
#endif
            if (cleared) std::memset(memory_.get(), 0, bytes);
            capacity_ = count;
        }
        return memory_.get();
    }

  private:
#if defined(__linux__)
    static constexpr size_t PAGE = size_t(1) << 21;  // large pages: fewer misses in the address translation
#else
    static constexpr size_t PAGE = 64;
#endif
    struct Free {
        void operator()(float* p) const { ::operator delete(p, std::align_val_t(PAGE)); }
    };
    std::unique_ptr<float[], Free> memory_;
    int64_t capacity_ = 0;
};

}  // namespace pic_uie
