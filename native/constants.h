// Every fixed number of the model for C++; src/pic_uie/constants.py has the Python copy and a test compares the two.
#pragma once

namespace pic_uie::constants {

// Full-range BT.601 with centred chroma.
inline constexpr double LUMA_R = 0.299;
inline constexpr double LUMA_G = 0.587;
inline constexpr double LUMA_B = 0.114;
inline constexpr double CB_SCALE = 0.564;
inline constexpr double CR_SCALE = 0.713;
inline constexpr double R_FROM_CR = 1.402;
inline constexpr double B_FROM_CB = 1.773;
inline constexpr double CHROMA_LIMIT = 0.5;

inline constexpr int DOWNSAMPLING = 8;  // three stride-2 convolutions
inline constexpr int TONE_INCREMENTS = 32;
inline constexpr int REFINER_WIDTH = 16;
inline constexpr int HALO = 3;  // three 3x3 convolutions

inline constexpr double T_MIN = 0.05;
inline constexpr double TONE_FLOOR = 1e-3;
inline constexpr double NORM_EPS = 1e-5;
inline constexpr double STD_EPS = 1e-5;
inline constexpr double COVARIANCE_EPS = 1e-4;
inline constexpr double EIGENVALUE_FLOOR = 1e-4;

}  // namespace pic_uie::constants
