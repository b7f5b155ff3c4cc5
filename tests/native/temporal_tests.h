// Cuts and the filter of streams, against slow references that are written from what temporal.h promises; hard cuts, flashes,
// fades and motion as scenarios.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "frames.h"
#include "random.h"
#include "temporal.h"

namespace temporal_tests {

using frames::Frame;
using pic_uie::CausalFilter;
using pic_uie::FLASH_FRAMES;
using pic_uie::Image;
using pic_uie::Scene;
using pic_uie::SCENE_GRID;
using pic_uie::Yuv;
using random_input::real;
using random_input::require;
using random_input::uniform;

constexpr int BLOCKS = SCENE_GRID * SCENE_GRID;
constexpr double CUT = 0.045, MOTION = 2.0, SAME = 0.03;

inline double apart(const Scene& a, const Scene& b) {
    double luma = 0.0, chroma = 0.0;
    for (int i = 0; i < 3 * BLOCKS; ++i)
        (i < BLOCKS ? luma : chroma) += std::fabs(double(a.means[i]) - double(b.means[i])) / BLOCKS;
    return luma / 2 + chroma / 2;
}

// Whether a comparison with a limit is too close to be decided in another precision.
struct Decision {
    bool value, sure;
};
inline Decision above(double x, double limit) { return {x > limit, std::fabs(x - limit) > 1e-5}; }

inline Decision begins_a_scene(const std::vector<Scene>& scenes, int index) {
    if (index == 0) return {true, true};
    bool sure = true, cut = true;
    auto demand = [&](Decision d) { cut = cut && d.value, sure = sure && d.sure; };
    double slowest = index > 1 ? 1.0 : 0.0;  // the smallest step of the frames before
    for (int i = std::max(1, index - FLASH_FRAMES); i < index; ++i) slowest = std::min(slowest, apart(scenes[i - 1], scenes[i]));
    const double step = apart(scenes[index - 1], scenes[index]);
    demand(above(step, CUT)), demand(above(step, MOTION * slowest));
    for (int i = std::max(0, index - FLASH_FRAMES - 1); i <= index - 2; ++i) demand(above(apart(scenes[i], scenes[index]), SAME));
    const int last = std::min(int(scenes.size()) - 1, index + FLASH_FRAMES);
    for (int i = index + 1; i <= last; ++i) demand(above(apart(scenes[index - 1], scenes[i]), SAME));
    return {cut, sure};
}

inline Scene random_scene() {
    Scene scene;
    const float level[3] = {real(0.1f, 0.9f), real(0.3f, 0.7f), real(0.3f, 0.7f)};
    for (int i = 0; i < 3 * BLOCKS; ++i) scene.means[i] = level[i / BLOCKS] + real(-0.1f, 0.1f);
    return scene;
}

inline Scene mixed(const Scene& a, const Scene& b, float part, float noise = 0.0f) {
    Scene scene;
    for (int i = 0; i < 3 * BLOCKS; ++i) scene.means[i] = a.means[i] + part * (b.means[i] - a.means[i]) + real(-noise, noise);
    return scene;
}

// Scenes as films have them: still, moving, cut, flashed at and faded.
inline std::vector<Scene> random_film(int length) {
    std::vector<Scene> film;
    Scene now = random_scene();
    while (int(film.size()) < length) {
        const Scene other = random_scene();
        const int kind = uniform(0, 3), frames = uniform(1, 12);
        if (kind == 0)
            for (int i = 0; i < frames; ++i) film.push_back(mixed(now, other, 0.0f, 0.01f));
        if (kind == 1) now = other;
        if (kind == 2) {
            for (int i = uniform(1, FLASH_FRAMES + 1); i > 0; --i) film.push_back(other);
            now = mixed(now, random_scene(), real(0.0f, 0.3f));  // more or less as before
        }
        if (kind == 3) {
            for (int i = 1; i <= frames; ++i) film.push_back(mixed(now, other, float(i) / float(frames)));
            now = other;
        }
        film.push_back(now);
    }
    return film;
}

inline void cuts_are_those_of_the_reference() {
    const std::vector<Scene> film = random_film(40);
    const int count = int(film.size());
    for (int i = 0; i < count; ++i) {
        require(std::fabs(pic_uie::distance(film[0], film[i]) - apart(film[0], film[i])) < 1e-5, "the distance of scenes");
        const Decision wanted = begins_a_scene(film, i);
        require(!wanted.sure || pic_uie::is_cut(film.data(), count, i) == wanted.value, "cuts of the reference");
        const int low = std::max(0, i - FLASH_FRAMES - 1), high = std::min(count, i + FLASH_FRAMES + 1);
        const bool near = pic_uie::is_cut(&film[size_t(low)], high - low, i - low);
        require(low == i || near == pic_uie::is_cut(film.data(), count, i), "no other frames matter");
    }
}

// All θ that the mean is of, from the first frame of the scene on; the mean is computed anew for every frame.
struct SlowFilter {
    double newest;
    std::vector<Scene> past;
    std::vector<std::vector<float>> scene, before;
    int since_cut = 0;
    bool sure = true;

    std::vector<double> push(const Scene& now, const std::vector<float>& theta, bool& cut) {
        past.push_back(now);
        const int last = int(past.size()) - 1;
        const Decision decided = begins_a_scene(past, last);
        cut = decided.value, sure = sure && decided.sure;
        ++since_cut;
        if (cut) {
            before.swap(scene), scene.clear(), since_cut = 0;
        } else if (!before.empty() && since_cut <= FLASH_FRAMES && last - 1 - since_cut >= 0) {
            const Decision other = above(apart(past[size_t(last - 1 - since_cut)], now), SAME);
            sure = sure && other.sure;
            if (!other.value) scene.swap(before), before.clear();  // a flash is over
        }
        scene.push_back(theta);
        std::vector<double> mean(theta.size(), 0.0);
        for (size_t k = 0; k < scene.size(); ++k) {
            const double weight = std::max(newest, 1.0 / double(k + 1));
            for (size_t i = 0; i < mean.size(); ++i) mean[i] = (1 - weight) * mean[i] + weight * double(scene[k][i]);
        }
        return mean;
    }
};

inline void filter_is_that_of_the_reference() {
    const std::vector<Scene> film = random_film(60);
    const size_t size = size_t(uniform(1, 40));
    const double frames = uniform(0, 3) ? double(real(1.0f, 30.0f)) : 1.0;
    std::unique_ptr<CausalFilter> filter;
    require(!CausalFilter::create(int64_t(size), frames, filter), "a filter");
    SlowFilter slow{2.0 / (frames + 1.0), {}, {}, {}};
    for (const Scene& scene : film) {
        std::vector<float> theta(size);
        for (float& x : theta) x = real(-1.0f, 1.0f);
        std::vector<float> out(theta.size());
        bool wanted_cut = false;
        const std::vector<double> wanted = slow.push(scene, theta, wanted_cut);
        const bool in_place = uniform(0, 1) == 0;
        if (in_place) out = theta;
        const bool cut = filter->push(scene, in_place ? out.data() : theta.data(), out.data());
        if (!slow.sure) return;  // too close to a limit to say what is right from here on
        require(cut == wanted_cut, "cuts of the filter");
        for (size_t i = 0; i < out.size(); ++i) require(std::fabs(double(out[i]) - wanted[i]) < 1e-4, "the mean of the filter");
    }
}

inline std::vector<int> cuts(const std::vector<Scene>& film) {
    std::vector<int> found;
    for (int i = 0; i < int(film.size()); ++i)
        if (pic_uie::is_cut(film.data(), int(film.size()), i)) found.push_back(i);
    return found;
}

inline std::vector<int> cuts_of_a_stream(const std::vector<Scene>& film) {
    std::unique_ptr<CausalFilter> filter;
    require(!CausalFilter::create(1, 15.0, filter), "a filter");
    std::vector<int> found;
    float theta = 0.0f;
    for (int i = 0; i < int(film.size()); ++i)
        if (filter->push(film[size_t(i)], &theta, &theta)) found.push_back(i);
    return found;
}

inline void scenarios() {
    Scene dark, bright, other;
    for (int i = 0; i < 3 * BLOCKS; ++i) {
        dark.means[i] = i < BLOCKS ? 0.3f : 0.5f;
        bright.means[i] = i < BLOCKS ? 0.8f : 0.5f;
        other.means[i] = i < BLOCKS ? 0.5f : 0.6f;
    }
    const std::vector<int> none = {0};
    const std::vector<Scene> still(20, dark);
    require(cuts(still) == none && cuts_of_a_stream(still) == none, "a still has no cuts");
    std::vector<Scene> film(still);
    film.insert(film.end(), 10, other), film.insert(film.end(), 5, dark);
    require(cuts(film) == std::vector<int>({0, 20, 30}) && cuts_of_a_stream(film) == cuts(film), "hard cuts");
    for (int length = 1; length <= FLASH_FRAMES + 2; ++length) {
        film = still;
        std::fill_n(film.begin() + 8, length, bright);
        const bool is_flash = length <= FLASH_FRAMES;
        require((cuts(film) == none) == is_flash, "a short flash is none, a longer one is a scene");
    }
    film.clear();
    for (int i = 0; i <= 30; ++i) film.push_back(mixed(dark, bright, float(i) / 30.0f));
    require(cuts(film) == none && cuts_of_a_stream(film) == none, "a fade");
    film.clear();
    for (int i = 0; i < 20; ++i) film.push_back(mixed(dark, bright, 0.25f * float(i % 3 ? i % 3 : 1) * float(1 + i % 2)));
    require(cuts(film).size() <= 2, "what always differs much moves");
    std::unique_ptr<CausalFilter> filter;
    require(!CausalFilter::create(1, 15.0, filter), "a filter");
    float out = 0.0f;
    for (int i = 0; i < 12; ++i) {  // θ is 1, during a flash 9
        const bool flash = i == 8 || i == 9;
        const float theta = flash ? 9.0f : 1.0f;
        filter->push(flash ? bright : dark, &theta, &out);
        require(std::fabs(out - theta) < 1e-6f, "a flash has its own θ and leaves nothing behind");
    }
}

// Frames of at most 16 pixels a block are averaged whole.
inline void scenes_are_block_means() {
    static const int depths[] = {8, 10, 12};
    const bool small = uniform(0, 1) == 0;
    const int height = small ? uniform(1, 30) : uniform(24, 190), width = small ? uniform(1, 30) : uniform(24, 190);
    Yuv kind = {};
    kind.bits = depths[uniform(0, 2)], kind.kr = 0.299, kind.kb = 0.114;
    Frame frame(height, width, kind, uniform(0, 1) == 0);
    const int top = (1 << kind.bits) - 1;
    for (int plane = 0; plane < 3; ++plane)
        for (int64_t y = 0; y < frame.rows(plane); ++y)
            for (int64_t x = 0; x < frame.columns(plane); ++x) frame.set(plane, y, x, uniform(0, top));
    Scene scene;
    require(!pic_uie::describe(frame.yuv, scene), "a description");
    for (int plane = 0; plane < 3; ++plane)
        for (int row = 0; row < SCENE_GRID; ++row)
            for (int column = 0; column < SCENE_GRID; ++column) {
                const int64_t h = frame.rows(plane), w = frame.columns(plane);
                const int64_t y0 = row * h / SCENE_GRID, y1 = std::max(y0 + 1, (row + 1) * h / SCENE_GRID);
                const int64_t x0 = column * w / SCENE_GRID, x1 = std::max(x0 + 1, (column + 1) * w / SCENE_GRID);
                double sum = 0.0;
                for (int64_t y = y0; y < y1; ++y)
                    for (int64_t x = x0; x < x1; ++x) sum += frame.get(plane, y, x);
                const double wanted = sum / double((y1 - y0) * (x1 - x0)) / top;
                require(std::fabs(scene.means[plane * BLOCKS + row * SCENE_GRID + column] - wanted) < 1e-4, "means of blocks");
            }
}

inline void wrong_arguments() {
    std::unique_ptr<CausalFilter> filter;
    for (double frames : {0.0, 0.99, -1.0, 1e7, std::numeric_limits<double>::quiet_NaN()})
        require(bool(CausalFilter::create(5, frames, filter)) && !filter, "a filter over no frames");
    for (int64_t size : {int64_t(0), int64_t(-1), (int64_t(1) << 26) + 1, std::numeric_limits<int64_t>::max()})
        require(bool(CausalFilter::create(size, 5.0, filter)) && !filter, "a filter of no numbers");
    Scene scene;
    require(bool(pic_uie::describe(Yuv{}, scene)) && bool(pic_uie::describe(Image{}, scene)), "no frame");
    require(!pic_uie::is_cut(&scene, 1, 1) && !pic_uie::is_cut(&scene, 1, -1) && !pic_uie::is_cut(&scene, 0, 0), "no such frame");
}

inline void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        cuts_are_those_of_the_reference();
        filter_is_that_of_the_reference();
        scenes_are_block_means();
    }
    scenarios();
    wrong_arguments();
}

}  // namespace temporal_tests
