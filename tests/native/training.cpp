// Drives the training kernels of every instruction set with random shapes: training_tests ROUNDS SEED. Arrays are allocated
// to the element; in double, gradients are compared with finite differences; images run on many threads at once.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/pool.h"
#include "training/contract.h"
#include "random.h"

namespace {

using pic_uie::training::BodyShape;
using pic_uie::training::Gradients;
using pic_uie::training::Inputs;
using pic_uie::training::Kernels;
using pic_uie::training::Shape;
using random_input::real;
using random_input::require;
using random_input::uniform;

template <class T>
std::vector<T> values(size_t count, float low, float high) {
    std::vector<T> all(count);
    for (T& x : all) x = T(real(low, high));
    return all;
}

template <class T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
    return sum;
}

// The derivative of `loss` along `direction`, against the gradient, at a point where no clip is near.
template <class Loss>
void check_gradient(std::vector<double>& point, const std::vector<double>& gradient, Loss loss, const char* what) {
    const std::vector<double> at = point, direction = values<double>(point.size(), -1.0f, 1.0f);
    const double h = 1e-6;
    auto moved = [&](double step) {
        for (size_t i = 0; i < at.size(); ++i) point[i] = at[i] + step * direction[i];
        return loss();
    };
    const double slope = (moved(h) - moved(-h)) / (2 * h), wanted = dot(gradient, direction);
    point = at;
    require(std::abs(slope - wanted) <= 1e-4 * (1 + std::abs(wanted)), what);
}

template <class T>
struct Executor {
    Shape s = {uniform(1, 40), uniform(1, 40), uniform(1, 6), uniform(1, 6), uniform(2, 40), uniform(2, 10)};
    size_t pixels = size_t(s.height) * size_t(s.width), field = size_t(s.field_height) * size_t(s.field_width);
    size_t cells = 2 * size_t(s.grid) * size_t(s.grid);
    std::vector<T> rgb = values<T>(3 * pixels, 0.2f, 0.8f), t = values<T>(field, 0.3f, 0.9f), v = values<T>(field, 0.0f, 0.2f),
                   a = values<T>(field, 0.0f, 0.3f), tone = values<T>(size_t(s.tones), 0.2f, 0.8f),
                   lut = values<T>(cells, -0.3f, 0.3f), matrix = values<T>(9, -0.1f, 0.1f), bias = values<T>(3, 0.0f, 0.1f),
                   gate = {T(0.6), T(0.2)}, refiner = values<T>(pic_uie::training::kRefinerSize, -0.1f, 0.1f);

    Executor() {
        for (int i = 0; i < 3; ++i) matrix[size_t(4 * i)] += T(0.8);
    }
    Inputs<T> inputs() const {
        return {rgb.data(), t.data(), v.data(), a.data(), tone.data(), lut.data(), matrix.data(), bias.data(), gate.data(), refiner.data()};
    }
};

template <class T>
void executor_round(const Kernels<T>& kernels) {
    Executor<T> e;
    std::vector<T> z1(3 * e.pixels), refined(e.pixels), weights = values<T>(3 * e.pixels, -1.0f, 1.0f);
    std::vector<double> mean(3), covariance(9), mean_weights = values<double>(3, -1.0f, 1.0f), covariance_weights(9, 0.3);
    auto forward = [&] {
        kernels.correct(e.s, e.inputs(), z1.data(), refined.data(), mean.data(), covariance.data());
        return dot(z1, weights) + dot(mean, mean_weights) + dot(covariance, covariance_weights);
    };
    forward();
    std::vector<T> dt(e.field), dv(e.field), da(e.field), dtone(size_t(e.s.tones)), dlut(e.cells), dmatrix(9), dbias(3), dgate(2),
        drefiner(pic_uie::training::kRefinerSize);
    const Gradients<T> to{dt.data(), dv.data(), da.data(), dtone.data(), dlut.data(), dmatrix.data(), dbias.data(), dgate.data(), drefiner.data()};
    kernels.correct_backward(e.s, e.inputs(), z1.data(), refined.data(), mean.data(), weights.data(), mean_weights.data(), covariance_weights.data(),
                             to);
    if constexpr (sizeof(T) == 8) {
        check_gradient(e.matrix, dmatrix, forward, "gradient of the colour matrix");
        check_gradient(e.bias, dbias, forward, "gradient of its bias");
        check_gradient(e.lut, dlut, forward, "gradient of the chroma table");
    }

    std::vector<T> slope = values<T>(9, -0.1f, 0.1f), offset = values<T>(3, 0.2f, 0.4f), rgb(3 * e.pixels), dz(3 * e.pixels);
    std::vector<double> dslope(9), doffset(3);
    kernels.finish(int64_t(e.pixels), z1.data(), slope.data(), offset.data(), rgb.data());
    for (T x : rgb) require(x >= T(0) && x <= T(1), "the result is in range");
    kernels.finish_backward(int64_t(e.pixels), z1.data(), slope.data(), offset.data(), weights.data(), dz.data(), dslope.data(), doffset.data());
}

template <class T>
void body_round(const Kernels<T>& kernels) {
    const BodyShape s = {uniform(1, 6), uniform(1, 9), 8 * uniform(1, 4)};
    const size_t area = size_t(s.size) * size_t(s.size), width = size_t(s.width);
    std::vector<T> x = values<T>(size_t(s.channels) * area, 0.0f, 1.0f);
    std::vector<T> packed = values<T>(width * (9 * size_t(s.channels) + 18 * width + 9), -0.5f, 0.5f);
    std::vector<T> saved(width * (area / 64 * 21 + 3)), features(width * area / 64), weights = values<T>(features.size(), -1.0f, 1.0f);
    kernels.body(s, x.data(), packed.data(), saved.data(), features.data());
    std::vector<T> gradient(packed.size());
    kernels.body_backward(s, x.data(), packed.data(), saved.data(), weights.data(), gradient.data());
    for (T value : gradient) require(std::isfinite(double(value)), "the body's gradient is finite");
}

template <class T>
void structure_round(const Kernels<T>& kernels) {
    const int height = uniform(11, 60), width = uniform(11, 60), scales = height > 20 && width > 20 ? 2 : 1;
    const size_t pixels = size_t(height) * size_t(width);
    std::vector<T> x = values<T>(pixels, 0.0f, 1.0f), y = values<T>(pixels, 0.0f, 1.0f), gradient(pixels, T(0));
    std::vector<double> means(size_t(2 * scales)), coefficients(means.size(), 0.5);
    auto forward = [&] {
        kernels.structure(height, width, scales, x.data(), y.data(), means.data());
        return dot(means, coefficients);
    };
    forward();
    for (double mean : means) require(mean > -1.0 && mean < 1.0, "a structural similarity");
    kernels.structure_backward(height, width, scales, x.data(), y.data(), coefficients.data(), gradient.data());
    if constexpr (sizeof(T) == 8) check_gradient(x, gradient, forward, "gradient of the structural similarity");
    kernels.structure(height, width, scales, x.data(), x.data(), means.data());
    for (double mean : means) require(std::abs(mean - 1.0) < 1e-5, "a picture is like itself");
}

template <class T>
void rounds(const char* set, int count) {
    const Kernels<T>* kernels = pic_uie::training::find_kernels<T>(set);
    require(kernels != nullptr, "the kernels of a set that this machine runs");
    for (int round = 0; round < count; ++round) executor_round(*kernels), body_round(*kernels), structure_round(*kernels);
}

// The same work on four threads gives the same bytes as on one.
void threads_agree() {
    const Kernels<float>& kernels = *pic_uie::training::find_kernels<float>(nullptr);
    constexpr int64_t items = 8;
    std::vector<Executor<float>> executors(items);
    std::vector<std::vector<float>> once(items), again(items);
    pic_uie::Pool pool(4);
    for (auto* results : {&once, &again})
        pool.each(items, results == &once ? 1 : 4, [&](int64_t i, int) {
            const Executor<float>& e = executors[size_t(i)];
            double mean[3], covariance[9];
            std::vector<float>& z1_refined = (*results)[size_t(i)];
            z1_refined.resize(4 * e.pixels);
            kernels.correct(e.s, e.inputs(), z1_refined.data(), z1_refined.data() + 3 * e.pixels, mean, covariance);
        });
    require(once == again, "the same bytes on any number of threads");
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 20;
    random_input::generator.seed(argc > 2 ? unsigned(std::atoi(argv[2])) : 1u);
    for (const char* const* set = pic_uie::instruction_sets(); *set; ++set) {
        rounds<float>(*set, count);
        rounds<double>(*set, count);
        std::printf("%s: %d rounds passed\n", *set, count);
    }
    threads_agree();
}
