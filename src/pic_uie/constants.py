"""Every fixed number of the model, written once for Python (`native/constants.h` has the C++ copy; a test compares)."""

from __future__ import annotations

from typing import Final

# Full-range BT.601 with centred chroma.
LUMA_R: Final = 0.299
LUMA_G: Final = 0.587
LUMA_B: Final = 0.114
CB_SCALE: Final = 0.564
CR_SCALE: Final = 0.713
R_FROM_CR: Final = 1.402
B_FROM_CB: Final = 1.773
CHROMA_LIMIT: Final = 0.5  # the chroma table spans [-0.5, 0.5] in both Cb and Cr

THUMBNAIL: Final = 256
WIDTH: Final = 16
DOWNSAMPLING: Final = 8  # three stride-2 convolutions: fields are thumbnail / 8 on a side
TONE_INCREMENTS: Final = 32
CURVE_INCREMENTS: Final = 16  # the "two 1-D curves" variant, per chroma channel
LUT_GRID: Final = 9
REFINER_WIDTH: Final = 16
HALO: Final = 3  # three 3x3 convolutions

T_MIN: Final = 0.05
TONE_FLOOR: Final = 1e-3  # smallest tone increment before normalisation
NORM_EPS: Final = 1e-5
STD_EPS: Final = 1e-5
COVARIANCE_EPS: Final = 1e-4
EIGENVALUE_FLOOR: Final = 1e-4
