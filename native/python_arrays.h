// What both Python modules share: arrays checked before a pointer leaves them, and calls without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__linux__)
#include <unistd.h>
#endif

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace pic_uie::python {

namespace nb = nanobind;

template <class T>
constexpr const char* FORMAT = nullptr;
template <>
inline constexpr const char* FORMAT<float> = "f";
template <>
inline constexpr const char* FORMAT<double> = "d";
template <>
inline constexpr const char* FORMAT<uint8_t> = "B";
template <>
inline constexpr const char* FORMAT<uint16_t> = "H";

enum class Access { read, write };

// An array's memory, by the buffer protocol, for as long as this lives.
class View {
  public:
    View(const char* name, nb::handle array, Access access) : name_(name) {
        const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (access == Access::write ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(array.ptr(), &buffer_, flags) != 0) throw nb::python_error();
    }
    ~View() {
        if (buffer_.obj) PyBuffer_Release(&buffer_);
    }
    View(View&& other) noexcept : name_(other.name_), buffer_(other.buffer_) { other.buffer_.obj = nullptr; }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    View& operator=(View&&) = delete;

    const Py_buffer& operator*() const { return buffer_; }
    int64_t side(int axis) const { return axis < buffer_.ndim ? int64_t(buffer_.shape[axis]) : 0; }

    template <class T>
    bool holds() const {
        const char* own = buffer_.format ? buffer_.format : "B";
        if (*own == '@' || *own == '=') ++own;
        return std::string(own) == FORMAT<T>;
    }

    // The memory of a C-contiguous array of T of exactly this shape.
    template <class T>
    T* data(std::initializer_list<int64_t> shape) const {
        bool fits = holds<T>() && buffer_.ndim == int(shape.size()) && PyBuffer_IsContiguous(&buffer_, 'C');
        int axis = 0;
        for (int64_t wanted : shape) fits = fits && side(axis++) == wanted;
        if (!fits) throw nb::value_error(complaint(FORMAT<T>, shape).c_str());
        return static_cast<T*>(buffer_.buf);
    }

  private:
    std::string complaint(const char* format, std::initializer_list<int64_t> shape) const {
        std::string text = std::string(name_) + " must be a C-contiguous array of type '" + format + "' and shape (";
        for (int64_t wanted : shape) text += std::to_string(wanted) + ",";
        text += "), got type '" + std::string(buffer_.format ? buffer_.format : "B") + "' and shape (";
        for (int axis = 0; axis < buffer_.ndim; ++axis) text += std::to_string(side(axis)) + ",";
        return text + ")" + (PyBuffer_IsContiguous(&buffer_, 'C') ? "" : ", not contiguous");
    }

    const char* name_;
    Py_buffer buffer_ = {};
};

// Runs `work`, which must not throw, without the interpreter's lock. When the interpreter has ended meanwhile, a daemon
// thread that asks for the lock is ended by unwinding its stack, which must not reach functions that cannot be left that
// way: the thread then waits for the end of the process instead.
template <class Work>
auto without_lock(Work work) {
    PyThreadState* state = PyEval_SaveThread();
    auto result = work();
#if defined(__linux__)
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) pause();
    }
#else
    PyEval_RestoreThread(state);
#endif
    return result;
}

}  // namespace pic_uie::python
