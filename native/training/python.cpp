// `pic_uie._training`: the kernels on NumPy arrays, one image or channel per task, tasks spread over threads.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "contract.h"

namespace nb = nanobind;
using namespace pic_uie_training;

#define PIC_UIE_DECLARE(isa)                      \
  namespace isa {                                 \
  extern const Kernels<float> float_kernels;      \
  extern const Kernels<double> double_kernels;    \
  }
PIC_UIE_DECLARE(training_baseline)
#ifdef PIC_UIE_X86
PIC_UIE_DECLARE(training_avx2)
PIC_UIE_DECLARE(training_avx512)
#endif

namespace {

template <class T>
const Kernels<T>& choose(const Kernels<T>& baseline, [[maybe_unused]] const Kernels<T>* avx2,
                         [[maybe_unused]] const Kernels<T>* avx512) {
#ifdef PIC_UIE_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
    return *avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return *avx2;
#endif
  return baseline;
}

#ifdef PIC_UIE_X86
#define PIC_UIE_CHOOSE(name) choose(training_baseline::name, &training_avx2::name, &training_avx512::name)
#else
#define PIC_UIE_CHOOSE(name) choose(training_baseline::name, nullptr, nullptr)
#endif

template <class T>
const Kernels<T>& kernels();
template <>
const Kernels<float>& kernels<float>() {
  static const Kernels<float>& chosen = PIC_UIE_CHOOSE(float_kernels);
  return chosen;
}
template <>
const Kernels<double>& kernels<double>() {
  static const Kernels<double>& chosen = PIC_UIE_CHOOSE(double_kernels);
  return chosen;
}

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using In = Array<const T>;

// Runs task(0) .. task(count - 1); each writes only its own outputs, so the result does not depend on the order.
template <class Task>
void parallel(int count, int threads, Task task) {
  nb::gil_scoped_release release;
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    try {
      for (int i = next++; i < count; i = next++) task(i);
    } catch (...) {  // only memory can run out in a task
      failed = true;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (failed) throw std::bad_alloc();
}

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T>
Shape shape_of(const In<T>& rgb, const In<T>& t, const In<T>& tone, const In<T>& lut) {
  require(rgb.ndim() == 4 && rgb.shape(1) == 3, "rgb must have shape (B, 3, H, W)");
  require(t.ndim() == 4 && t.shape(0) == rgb.shape(0) && t.shape(1) == 1, "t must have shape (B, 1, h, w)");
  require(tone.ndim() == 2 && tone.shape(0) == rgb.shape(0) && tone.shape(1) >= 2, "tone must have shape (B, n)");
  require(lut.ndim() == 4 && lut.shape(0) == rgb.shape(0) && lut.shape(1) == 2 && lut.shape(2) == lut.shape(3) &&
              lut.shape(2) >= 2, "lut must have shape (B, 2, g, g)");
  require(rgb.size() > 0 && t.size() > 0 && rgb.shape(2) < (1u << 24) && rgb.shape(3) < (1u << 24), "empty or huge array");
  const auto side = [](std::size_t n) { return static_cast<int>(n); };
  return {side(rgb.shape(2)), side(rgb.shape(3)),  side(t.shape(2)),
          side(t.shape(3)),   side(tone.shape(1)), side(lut.shape(2))};
}

template <class T>
struct Batch {  // the inputs of `correct` for a whole batch
  In<T> rgb, t, v, a, tone, lut, matrix, bias, beta_gamma, refiner;
  Shape shape;
  int size;

  Batch(In<T> rgb, In<T> t, In<T> v, In<T> a, In<T> tone, In<T> lut, In<T> matrix, In<T> bias, In<T> beta_gamma,
        In<T> refiner)
      : rgb(rgb), t(t), v(v), a(a), tone(tone), lut(lut), matrix(matrix), bias(bias), beta_gamma(beta_gamma),
        refiner(refiner), shape(shape_of(rgb, t, tone, lut)), size(static_cast<int>(rgb.shape(0))) {
    const std::size_t n = rgb.shape(0);
    require(v.size() == t.size() && a.size() == t.size(), "t, v and a must have one shape");
    require(matrix.size() == 9 * n && bias.size() == 3 * n, "matrix must be (B, 3, 3) and bias (B, 3)");
    require(beta_gamma.size() == 2 && refiner.size() == kRefinerSize, "beta_gamma must be (2,) and refiner (465,)");
  }

  Inputs<T> operator[](int i) const {
    const auto at = [i](const In<T>& array) { return array.data() + array.size() / array.shape(0) * i; };
    return {at(rgb), at(t), at(v), at(a), at(tone), at(lut), at(matrix), at(bias), beta_gamma.data(), refiner.data()};
  }
};

template <class T>
T* item(const Array<T>& array, int i) {
  return array.data() + array.size() / array.shape(0) * i;
}
template <class T>
const T* item(const In<T>& array, int i) {
  return array.data() + array.size() / array.shape(0) * i;
}

template <class T>
BodyShape body_shape(const In<T>& thumbnails, const In<T>& packed, std::size_t width) {
  require(thumbnails.ndim() == 4 && thumbnails.size() > 0, "thumbnails must have shape (B, C, S, S)");
  const std::size_t channels = thumbnails.shape(1), size = thumbnails.shape(2);
  require(size == thumbnails.shape(3) && size % 8 == 0 && size <= 4096, "thumbnails must be square, a multiple of 8");
  require(width >= 1 && width <= 1024 && channels <= 1024, "width must be 1..1024");
  require(packed.size() == width * (9 * channels + 18 * width + 9), "packed parameters do not fit the width");
  return {static_cast<int>(channels), static_cast<int>(width), static_cast<int>(size)};
}

template <class T>
void bind(nb::module_& m) {
  m.def("body", [](In<T> thumbnails, In<T> packed, Array<T> saved, Array<T> features, int threads) {
    require(features.ndim() == 4 && features.shape(0) == thumbnails.shape(0), "features must be (B, width, S/8, S/8)");
    const BodyShape shape = body_shape<T>(thumbnails, packed, features.shape(1));
    const std::size_t area = static_cast<std::size_t>(shape.size) * shape.size, n = thumbnails.shape(0) * shape.width;
    require(features.size() == n * area / 64 && saved.size() == n * (area / 64 * 21 + 3), "saved or features: wrong size");
    parallel(static_cast<int>(thumbnails.shape(0)), threads, [&](int i) {
      kernels<T>().body(shape, item(thumbnails, i), packed.data(), item(saved, i), item(features, i));
    });
  });
  m.def("body_backward", [](In<T> thumbnails, In<T> packed, In<T> saved, In<T> dfeatures, Array<T> dpacked, int threads) {
    require(dfeatures.ndim() == 4 && dfeatures.shape(0) == thumbnails.shape(0), "gradient must be (B, width, S/8, S/8)");
    const BodyShape shape = body_shape<T>(thumbnails, packed, dfeatures.shape(1));
    const std::size_t area = static_cast<std::size_t>(shape.size) * shape.size, n = thumbnails.shape(0) * shape.width;
    require(dfeatures.size() == n * area / 64 && saved.size() == n * (area / 64 * 21 + 3) &&
                dpacked.size() == packed.size() * thumbnails.shape(0), "saved or a gradient: wrong size");
    parallel(static_cast<int>(thumbnails.shape(0)), threads, [&](int i) {
      kernels<T>().body_backward(shape, item(thumbnails, i), packed.data(), item(saved, i), item(dfeatures, i),
                                 item(dpacked, i));
    });
  });
  m.def("correct", [](In<T> rgb, In<T> t, In<T> v, In<T> a, In<T> tone, In<T> lut, In<T> matrix, In<T> bias, In<T> beta_gamma,
                      In<T> refiner, Array<T> z1, Array<double> mean, Array<double> covariance, int threads) {
    const Batch<T> batch(rgb, t, v, a, tone, lut, matrix, bias, beta_gamma, refiner);
    require(z1.size() == rgb.size() && mean.size() == 3 * rgb.shape(0) && covariance.size() == 9 * rgb.shape(0),
            "outputs must be z1 (B, 3, H, W), mean (B, 3), covariance (B, 3, 3)");
    parallel(batch.size, threads, [&](int i) {
      kernels<T>().correct(batch.shape, batch[i], item(z1, i), item(mean, i), item(covariance, i));
    });
  });
  m.def("correct_backward", [](In<T> rgb, In<T> t, In<T> v, In<T> a, In<T> tone, In<T> lut, In<T> matrix, In<T> bias,
                               In<T> beta_gamma, In<T> refiner, In<T> z1, In<double> mean, In<T> dz1, In<double> dmean,
                               In<double> dcovariance, Array<T> dt, Array<T> dv, Array<T> da, Array<T> dtone, Array<T> dlut,
                               Array<T> dmatrix, Array<T> dbias, Array<T> dbeta_gamma, Array<T> drefiner, int threads) {
    const Batch<T> batch(rgb, t, v, a, tone, lut, matrix, bias, beta_gamma, refiner);
    const std::size_t n = rgb.shape(0);
    require(z1.size() == rgb.size() && dz1.size() == rgb.size() && mean.size() == 3 * n && dmean.size() == 3 * n &&
                dcovariance.size() == 9 * n, "z1 and its gradients have other shapes than rgb asks for");
    require(dt.size() == t.size() && dv.size() == t.size() && da.size() == t.size() && dtone.size() == tone.size() &&
                dlut.size() == lut.size() && dmatrix.size() == 9 * n && dbias.size() == 3 * n &&
                dbeta_gamma.size() == 2 * n && drefiner.size() == kRefinerSize * n, "a gradient has the wrong shape");
    parallel(batch.size, threads, [&](int i) {
      const Gradients<T> gradients{item(dt, i), item(dv, i), item(da, i), item(dtone, i), item(dlut, i),
                                   item(dmatrix, i), item(dbias, i), item(dbeta_gamma, i), item(drefiner, i)};
      kernels<T>().correct_backward(batch.shape, batch[i], item(z1, i), item(mean, i), item(dz1, i), item(dmean, i),
                                    item(dcovariance, i), gradients);
    });
  });
  m.def("finish", [](In<T> z1, In<T> slope, In<T> offset, Array<T> rgb, int threads) {
    require(z1.ndim() == 4 && z1.shape(1) == 3 && rgb.size() == z1.size(), "z1 and rgb must have shape (B, 3, H, W)");
    require(slope.size() == 9 * z1.shape(0) && offset.size() == 3 * z1.shape(0), "slope must be (B, 3, 3), offset (B, 3)");
    const long pixels = static_cast<long>(z1.shape(2) * z1.shape(3));
    parallel(static_cast<int>(z1.shape(0)), threads, [&](int i) {
      kernels<T>().finish(pixels, item(z1, i), item(slope, i), item(offset, i), item(rgb, i));
    });
  });
  m.def("finish_backward", [](In<T> z1, In<T> slope, In<T> offset, In<T> drgb, Array<T> dz1, Array<double> dslope,
                              Array<double> doffset, int threads) {
    require(z1.ndim() == 4 && z1.shape(1) == 3 && drgb.size() == z1.size() && dz1.size() == z1.size(),
            "z1, its gradient and that of rgb must have shape (B, 3, H, W)");
    require(slope.size() == 9 * z1.shape(0) && offset.size() == 3 * z1.shape(0) && dslope.size() == slope.size() &&
                doffset.size() == offset.size(), "slope must be (B, 3, 3), offset (B, 3)");
    const long pixels = static_cast<long>(z1.shape(2) * z1.shape(3));
    parallel(static_cast<int>(z1.shape(0)), threads, [&](int i) {
      kernels<T>().finish_backward(pixels, item(z1, i), item(slope, i), item(offset, i), item(drgb, i), item(dz1, i),
                                   item(dslope, i), item(doffset, i));
    });
  });
  const auto check_structure = [](std::size_t height, std::size_t width, int scales) {
    require(scales >= 1 && scales <= kScales, "scales must be 1..5");
    for (int scale = 0; scale < scales; ++scale, height = (height + 1) / 2, width = (width + 1) / 2)
      require(height >= 11 && width >= 11 && height < (1u << 24) && width < (1u << 24), "image too small for the window");
  };
  m.def("structure", [=](In<T> x, In<T> y, int scales, Array<double> means, int threads) {
    require(x.ndim() == 3 && y.size() == x.size() && means.size() == 2 * scales * x.shape(0),
            "x and y must be (N, H, W), means (N, scales, 2)");
    const int height = static_cast<int>(x.shape(1)), width = static_cast<int>(x.shape(2));
    check_structure(x.shape(1), x.shape(2), scales);
    parallel(static_cast<int>(x.shape(0)), threads, [&](int i) {
      kernels<T>().structure(height, width, scales, item(x, i), item(y, i), item(means, i));
    });
  });
  m.def("structure_backward", [=](In<T> x, In<T> y, int scales, In<double> coefficients, Array<T> dx, int threads) {
    require(x.ndim() == 3 && y.size() == x.size() && dx.size() == x.size() &&
                coefficients.size() == 2 * scales * x.shape(0), "x, y and dx must be (N, H, W), coefficients (N, scales, 2)");
    const int height = static_cast<int>(x.shape(1)), width = static_cast<int>(x.shape(2));
    check_structure(x.shape(1), x.shape(2), scales);
    parallel(static_cast<int>(x.shape(0)), threads, [&](int i) {
      kernels<T>().structure_backward(height, width, scales, item(x, i), item(y, i), item(coefficients, i), item(dx, i));
    });
  });
}

}  // namespace

NB_MODULE(_training, m) {
  bind<float>(m);
  bind<double>(m);
}
