// A zeroed array. Not std::vector: its functions would be shared between the copies of this code that are compiled for
// different instruction sets, and the linker might keep the one that the machine cannot run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

// Before a loop: what one turn writes, no other turn reads. The compiler cannot see that of the buffers of a row, and would
// rather not vectorise than check each pair of them.
#ifdef __clang__
#define PIC_UIE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PIC_UIE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace PIC_UIE_ISA {

template <class T>
class Buffer {
  public:
    // Inlined, so that the compiler sees fresh memory, which nothing else points to: the loops of structure.h take half the time.
    explicit __attribute__((always_inline)) Buffer(std::size_t size)
        : size_(size), values(static_cast<T*>(::operator new[](size * sizeof(T), kAlignment))) {
        clear();
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { ::operator delete[](values, kAlignment); }

    T& operator[](std::size_t index) { return values[index]; }
    const T& operator[](std::size_t index) const { return values[index]; }
    T* data() { return values; }
    const T* data() const { return values; }
    std::size_t size() const { return size_; }
    void clear() { std::fill_n(values, size_, T(0)); }

  private:
    static constexpr std::align_val_t kAlignment{
        64};  // a vector that crosses a cache line costs two reads, or two writes
    const std::size_t size_;
    T* const values;
};

}  // namespace PIC_UIE_ISA
