"""Colour management: any ICC profile to sRGB for the model, and back for the file."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import vips
from pic_uie.images.picture import Pixels, Space
from pic_uie.images.profiles import matrix_profile

CHANNELS: dict[Space, int] = {"grey": 1, "rgb": 3, "cmyk": 4, "lab": 3}
_PIL_MODES: dict[Space, str] = {"grey": "L", "rgb": "RGB", "cmyk": "CMYK"}
_SIGNATURES: dict[bytes, Space] = {b"GRAY": "grey", b"RGB ": "rgb", b"CMYK": "cmyk"}
# A profile that moves no colour by more than one 8-bit level is sRGB, whatever its name says.
_SAME = 257
_ROUND_TRIP_LEVELS = 24  # of 255, on average
_INTENT: dict[str, Any] = {"intent": "relative", "black_point_compensation": True}

# Adobe RGB (1998): primaries, and the exponent 2 + 51/256.
ADOBE_RGB = matrix_profile("Compatible with Adobe RGB (1998)", ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), 563 / 256)


@lru_cache(maxsize=16)
def fault(profile: bytes, space: Space) -> str | None:
    """Says what is wrong with an ICC profile for such channels; None if it can be used.

    Little CMS is asked through Pillow: libvips takes sRGB for a damaged profile without an error.
    """
    if profile[36:40] != b"acsp":
        return "its ICC profile is damaged and was ignored"
    if _SIGNATURES.get(profile[16:20]) != space:
        return "its ICC profile is for another kind of picture and was ignored"
    from PIL import ImageCms

    try:
        opened = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        ImageCms.buildTransform(opened, ImageCms.createProfile("sRGB"), _PIL_MODES[space], "RGB")
    except (OSError, ImageCms.PyCMSError):
        return "its ICC profile is damaged and was ignored"
    return None


def default_cmyk_profile() -> bytes:
    """Returns the profile assumed for CMYK pictures without one."""
    return vips.built_in_profile("cmyk")


@lru_cache(maxsize=16)
def is_srgb(profile: bytes, space: Space) -> bool:
    """Returns whether a sound profile leaves the colours of a test chart where sRGB has them."""
    if space == "cmyk":
        return False
    steps = np.arange(0, 256, 15, dtype=np.uint8)
    grid = steps[:, None] if space == "grey" else np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    chart = np.ascontiguousarray(grid[None])  # (1, N, C)
    converted = to_srgb(chart, space, profile)
    return int(np.abs(converted.astype(np.int64) - 257 * chart.astype(np.int64)).max()) <= _SAME


@lru_cache(maxsize=16)
def has_way_back(profile: bytes, space: Space) -> bool:
    """Returns whether a profile converts from sRGB as well.

    Profiles of scanners have no table for it, and some have one that does nothing (XYB): a chart that does not come
    back to where it was gives them away.
    """
    steps = np.linspace(24, 232, 6).astype(np.uint8)  # well inside sRGB, where every profile has room
    chart = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    if space == "grey":
        chart = np.ascontiguousarray(np.repeat(steps[None, :, None], 3, axis=2))
    try:
        again = to_srgb(from_srgb(chart, space, profile, 16 if space != "cmyk" else 8), space, profile)
    except ImageError:
        return False
    difference = again.astype(np.int64) - 257 * chart[:, :, : again.shape[2]].astype(np.int64)
    # printers cannot reach all of sRGB: the mean is judged, against what a picture may change
    return float(np.abs(difference).mean()) <= 257 * _ROUND_TRIP_LEVELS


def to_srgb(pixels: Pixels, space: Space, profile: bytes) -> Pixels:
    """Converts (H, W, C) colour channels to 16-bit sRGB: (H, W, 1) for grey, else (H, W, 3).

    Raises:
        ImageError: The profile is damaged or does not describe such channels.
    """
    with vips.errors_as_image_errors("the ICC profile cannot be used"):
        image = vips.with_block(vips.from_array(pixels, space), "icc-profile-data", profile)
        converted = image.icc_transform("srgb", embedded=True, depth=16, **_INTENT)
        if converted.bands != 3:
            raise ImageError(f"the ICC profile turns {CHANNELS[space]} channels into {converted.bands}, not into RGB")
        if space == "grey":
            converted = converted.extract_band(1)
        return vips.to_array(converted)


def lab_to_srgb(lab: NDArray[np.float32], white: Literal["D50", "D65"] = "D50") -> Pixels:
    """Converts CIE L*a*b*, (H, W, 3), to 16-bit sRGB: under D50, as ICC has it, or under D65, as libvips has it."""
    height, width, _ = lab.shape
    with vips.errors_as_image_errors("the Lab colours cannot be converted"):
        image = vips.library().Image.new_from_memory(lab.data, width, height, 3, "float").copy(interpretation="lab")
        if white == "D65":
            return vips.to_array(image.colourspace("rgb16"))
        return vips.to_array(image.icc_export(output_profile="srgb", pcs="lab", depth=16, intent="relative"))


def from_srgb(pixels: Pixels, space: Space, profile: bytes, bits: int) -> Pixels:
    """Converts sRGB (H, W, 1 or 3) to the channels of `profile` at 8 or 16 bits.

    Raises:
        ImageError: The profile has no way back (a scanner's input-only profile).
    """
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    with (
        _as_path(profile) as path,
        vips.errors_as_image_errors("the result cannot be converted back to the picture's ICC profile"),
    ):
        image = vips.from_array(pixels, "rgb")
        converted = vips.to_array(image.icc_transform(path, input_profile="srgb", depth=bits, **_INTENT))
    if converted.shape[2] != CHANNELS[space]:
        raise ImageError(f"the ICC profile gives {converted.shape[2]} channels for a picture with {CHANNELS[space]}")
    return converted


@contextmanager
def _as_path(profile: bytes) -> Iterator[str]:
    """Gives a profile the name of a file, which is the only way that libvips takes it for output.

    On Linux it is a file in memory that ends with the process, however that ends; elsewhere a temporary one.
    """
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("profile.icc"), "wb") as file:
            file.write(profile)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory(prefix="pic-uie-") as folder:
        path = Path(folder) / "profile.icc"
        path.write_bytes(profile)
        yield str(path)


def lost_in_srgb(pixels: Pixels, space: Space, profile: bytes) -> NDArray[np.float32]:
    """Returns what the way to sRGB and back changes in (H, W, C) colour channels: what sRGB has no room for."""
    back = from_srgb(to_srgb(pixels, space, profile), space, profile, 8 * pixels.itemsize)
    return pixels.astype(np.float32) - back


def deepened(channel: Pixels) -> Pixels:
    """Scales 8 bits to 16, exactly."""
    return channel if channel.dtype == np.uint16 else channel.astype(np.uint16) * np.uint16(257)


def flattened(channel: Pixels) -> Pixels:
    """Rounds 16 bits to 8."""
    if channel.dtype == np.uint8:
        return channel
    return _eight_bits()[channel]


@cache
def _eight_bits() -> Pixels:
    return ((np.arange(65536, dtype=np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
