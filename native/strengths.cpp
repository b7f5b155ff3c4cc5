// Groups of corrections, each moved towards the one that changes nothing. t stays: it also gates the chroma correction, and
// without v and a it does nothing else.
#include <algorithm>

#include "checks.h"

namespace pic_uie {
namespace {

float towards(float identity, float value, float strength) {
    return strength == 1.0f ? value : float(double(identity) + double(strength) * (double(value) - double(identity)));
}

bool in_unit_range(float x) { return x >= 0.0f && x <= 1.0f; }

// Γ, U and M that change nothing, at one of their samples.
float identity_tone(int sample, int samples) { return float(double(sample) / double(samples - 1)); }
float identity_lut(int channel, int row, int column, int grid) {
    return float(2.0 * (channel ? row : column) / (grid - 1) - 1.0);
}
float identity_matrix(int i) { return i % 4 == 0 ? 1.0f : 0.0f; }

bool all_zero(const float* values, int64_t count) {
    return std::all_of(values, values + count, [](float value) { return value == 0.0f; });
}

bool changes_no_luminance(const Corrections& theta) {
    const int64_t field = int64_t(theta.field_height) * theta.field_width;
    if (theta.refinement != 0.0f || !all_zero(theta.v, field) || !all_zero(theta.a, field)) return false;
    for (int i = 0; i < theta.tone_samples; ++i)
        if (theta.tone[i] != identity_tone(i, theta.tone_samples)) return false;
    return true;
}

bool changes_no_chroma(const Corrections& theta) {
    const int grid = theta.grid;
    for (int channel = 0, at = 0; channel < 2; ++channel)
        for (int row = 0; row < grid; ++row)
            for (int column = 0; column < grid; ++column, ++at)
                if (theta.lut[at] != identity_lut(channel, row, column, grid)) return false;
    return true;
}

bool changes_no_balance(const Corrections& theta) {
    for (int i = 0; i < 9; ++i)
        if (theta.matrix[i] != identity_matrix(i)) return false;
    return theta.blend == 0.0f && all_zero(theta.bias, 3);
}

}  // namespace

bool changes_nothing(const Corrections& theta) {
    return changes_no_balance(theta) && changes_no_luminance(theta) && changes_no_chroma(theta);
}

Error scale(const Corrections& theta, const Strengths& s, const CorrectionsOut& out, float& refinement) {
    if (Error error = check_corrections(theta)) return error;
    if (Error error = check_memory(out)) return error;
    if (!in_unit_range(s.haze) || !in_unit_range(s.contrast) || !in_unit_range(s.colour) || !in_unit_range(s.balance))
        return Code::bad_strength;
    const int64_t field = int64_t(theta.field_height) * theta.field_width;
    for (int64_t i = 0; i < field; ++i) {
        out.t[i] = theta.t[i];
        out.v[i] = towards(0.0f, theta.v[i], s.haze);
        out.a[i] = towards(0.0f, theta.a[i], s.haze);
    }
    for (int i = 0; i < theta.tone_samples; ++i)
        out.tone[i] = towards(identity_tone(i, theta.tone_samples), theta.tone[i], s.contrast);
    refinement = towards(0.0f, theta.refinement, s.contrast);
    const int grid = theta.grid;
    for (int channel = 0, at = 0; channel < 2; ++channel)
        for (int row = 0; row < grid; ++row)
            for (int column = 0; column < grid; ++column, ++at)
                out.lut[at] = towards(identity_lut(channel, row, column, grid), theta.lut[at], s.colour);
    for (int i = 0; i < 9; ++i) out.affine[i] = towards(identity_matrix(i), theta.matrix[i], s.balance);
    for (int i = 0; i < 3; ++i) {
        out.affine[9 + i] = towards(0.0f, theta.bias[i], s.balance);
        out.covariance[i] = theta.mean[i];
    }
    for (int i = 0; i < 9; ++i) out.covariance[3 + i] = theta.recolor[i];
    out.covariance[12] = towards(0.0f, theta.blend, s.balance);
    return {};
}

}  // namespace pic_uie
