// A zeroed array. Not std::vector: its functions would be shared between the copies of this code that are compiled for
// different instruction sets, and the linker might keep the one that the machine cannot run.
#pragma once

#include <algorithm>
#include <cstddef>

namespace PIC_UIE_ISA {

template <class T>
class Buffer {
  public:
    explicit Buffer(std::size_t size) : size_(size), values(new T[size]()) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { delete[] values; }

    T& operator[](std::size_t index) { return values[index]; }
    const T& operator[](std::size_t index) const { return values[index]; }
    T* data() { return values; }
    const T* data() const { return values; }
    std::size_t size() const { return size_; }
    void clear() { std::fill_n(values, size_, T(0)); }

  private:
    const std::size_t size_;
    T* const values;
};

}  // namespace PIC_UIE_ISA
