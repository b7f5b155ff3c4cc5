#include "temporal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "checks.h"

namespace pic_uie {
namespace {

constexpr int SAMPLES = 16;  // rows and columns of a block that are looked at, at most
// A cut is a frame that differs by more than this from the one before, and by more than twice of what the frames before it
// differ: fast motion differs much, but always. benchmarks/flicker.py prints what real scenes have.
constexpr float CUT = 0.045f, MOTION = 2.0f;
constexpr float SAME = 0.03f;  // what returns to this after a flash is the scene of before

template <class Sample>
float mean_of_block(const Sample& sample, int64_t top, int64_t bottom, int64_t left, int64_t right) {
    const int64_t rows = (bottom - top + SAMPLES - 1) / SAMPLES, columns = (right - left + SAMPLES - 1) / SAMPLES;
    float sum = 0.0f;
    int count = 0;
    for (int64_t y = top + (rows - 1) / 2; y < bottom; y += rows)
        for (int64_t x = left + (columns - 1) / 2; x < right; x += columns, ++count) sum += sample(y, x);
    return count ? sum / float(count) : 0.0f;
}

// Means of one channel; frames smaller than the grid repeat their pixels.
template <class Sample>
void means(int64_t height, int64_t width, float* out, const Sample& sample) {
    for (int row = 0; row < SCENE_GRID; ++row)
        for (int column = 0; column < SCENE_GRID; ++column) {
            const int64_t top = row * height / SCENE_GRID, left = column * width / SCENE_GRID;
            const int64_t bottom = std::max(top + 1, (row + 1) * height / SCENE_GRID);
            const int64_t right = std::max(left + 1, (column + 1) * width / SCENE_GRID);
            *out++ = mean_of_block(sample, top, bottom, left, right);
        }
}

template <class T>
void planes(const Yuv& frame, Scene& scene) {
    const void* const data[3] = {frame.y, frame.cb, frame.cr};
    const float scale = 1.0f / float((1 << frame.bits) - 1);
    for (int plane = 0; plane < 3; ++plane) {
        const auto* bytes = static_cast<const uint8_t*>(data[plane]);
        const int64_t row_stride = plane ? frame.chroma_stride : frame.y_stride;
        const int64_t step = plane ? frame.chroma_step : int64_t(sizeof(T));
        const int64_t height = plane ? (frame.height + 1) / 2 : frame.height,
                      width = plane ? (frame.width + 1) / 2 : frame.width;
        means(height, width, scene.means + plane * SCENE_GRID * SCENE_GRID, [=](int64_t y, int64_t x) {
            T value;
            std::memcpy(&value, bytes + y * row_stride + x * step, sizeof(T));
            return float(value) * scale;
        });
    }
}

template <class T>
void pixels(const Image& image, float scale, Scene& scene) {
    const auto* bytes = static_cast<const uint8_t*>(image.data);
    const bool grey = image.channels == 1;
    float rgb[3][SCENE_GRID * SCENE_GRID];
    for (int channel = 0; channel < 3; ++channel)
        means(image.height, image.width, rgb[channel], [&](int64_t y, int64_t x) {
            T value;
            const int64_t at =
                y * image.row_stride + x * image.pixel_stride + (grey ? 0 : channel) * image.channel_stride;
            std::memcpy(&value, bytes + at, sizeof(T));
            return float(value) * scale;
        });
    for (int i = 0; i < SCENE_GRID * SCENE_GRID; ++i) {
        const float r = rgb[0][i], g = rgb[1][i], b = rgb[2][i];
        const float y = float(constants::LUMA_R) * r + float(constants::LUMA_G) * g + float(constants::LUMA_B) * b;
        scene.means[i] = y;
        scene.means[SCENE_GRID * SCENE_GRID + i] = 0.5f + float(constants::CB_SCALE) * (b - y);
        scene.means[2 * SCENE_GRID * SCENE_GRID + i] = 0.5f + float(constants::CR_SCALE) * (r - y);
    }
}

}  // namespace

Error describe(const Yuv& frame, Scene& scene) {
    if (Error error = check_picture(frame)) return error;
    is_bytes(frame) ? planes<uint8_t>(frame, scene) : planes<uint16_t>(frame, scene);
    return {};
}

Error describe(const Image& frame, Scene& scene) {
    if (Error error = check_picture(frame)) return error;
    switch (depth_of(frame)) {
        case Depth::u8: pixels<uint8_t>(frame, 1.0f / 255.0f, scene); break;
        case Depth::u16: pixels<uint16_t>(frame, 1.0f / 65535.0f, scene); break;
        case Depth::f32: pixels<float>(frame, 1.0f, scene); break;
    }
    return {};
}

float distance(const Scene& a, const Scene& b) {
    constexpr int BLOCKS = SCENE_GRID * SCENE_GRID;
    float luma = 0.0f, chroma = 0.0f;
    for (int i = 0; i < BLOCKS; ++i) luma += std::fabs(a.means[i] - b.means[i]);
    for (int i = BLOCKS; i < 3 * BLOCKS; ++i) chroma += std::fabs(a.means[i] - b.means[i]);
    return (luma + chroma) / float(2 * BLOCKS);
}

bool is_cut(const Scene* scenes, int count, int index) {
    if (index <= 0 || index >= count) return index == 0 && count > 0;
    const Scene &now = scenes[index], &last = scenes[index - 1];
    float motion = index > 1 ? 1.0f : 0.0f;
    for (int k = 1; k <= FLASH_FRAMES && index - 1 - k >= 0; ++k)
        motion = std::min(motion, distance(scenes[index - 1 - k], scenes[index - k]));
    const float step = distance(last, now);
    if (step <= CUT || step <= MOTION * motion) return false;
    for (int k = 2; k <= FLASH_FRAMES + 1 && index - k >= 0; ++k)
        if (distance(scenes[index - k], now) <= SAME) return false;  // a flash is over
    for (int k = 1; k <= FLASH_FRAMES && index + k < count; ++k)
        if (distance(last, scenes[index + k]) <= SAME) return false;  // a flash begins
    return true;
}

struct CausalFilter::State {
    double newest;  // the weight of a new frame, in the long run
    std::vector<float> mean, before;
    int64_t frames = 0, frames_before = 0;  // that the mean is of
    int since_cut = 0;
    Scene scenes[SCENE_HISTORY] = {};
    int count = 0;
};

CausalFilter::CausalFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CausalFilter::~CausalFilter() = default;

Error CausalFilter::create(int64_t size, double frames, std::unique_ptr<CausalFilter>& filter) {
    if (size < 1 || size > (int64_t(1) << 26) || !(frames >= 1.0 && frames <= 1e6)) return Code::bad_corrections;
    PIC_UIE_TRY {
        auto state = std::make_unique<State>();
        state->newest = 2.0 / (frames + 1.0);
        state->mean.resize(size_t(size)), state->before.resize(size_t(size));
        filter.reset(new CausalFilter(std::move(state)));
    }
    PIC_UIE_OUT_OF_MEMORY
    return {};
}

bool CausalFilter::push(const Scene& scene, const float* theta, float* smoothed) {
    State& s = *state_;
    if (s.count == SCENE_HISTORY) std::move(s.scenes + 1, s.scenes + SCENE_HISTORY, s.scenes), --s.count;
    s.scenes[s.count++] = scene;
    bool cut = is_cut(s.scenes, s.count, s.count - 1);
    ++s.since_cut;
    const bool flash_over = !cut && s.frames_before && s.since_cut <= FLASH_FRAMES && s.count - 2 - s.since_cut >= 0 &&
                            distance(s.scenes[s.count - 2 - s.since_cut], scene) <= SAME;
    if (flash_over) {
        s.mean.swap(s.before), s.frames = s.frames_before, s.frames_before = 0;
    } else if (cut) {
        s.mean.swap(s.before), s.frames_before = s.frames, s.frames = 0, s.since_cut = 0;
    }
    ++s.frames;
    const float weight = float(std::max(s.newest, 1.0 / double(s.frames)));
    for (size_t i = 0; i < s.mean.size(); ++i) {
        s.mean[i] = s.frames == 1 ? theta[i] : s.mean[i] + weight * (theta[i] - s.mean[i]);
        smoothed[i] = s.mean[i];
    }
    return cut;
}

}  // namespace pic_uie
