"""Colour management: any ICC profile to sRGB for the model, and back for the file."""

from __future__ import annotations

import io
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import vips
from pic_uie.images.picture import Pixels, Space
from pic_uie.images.profiles import matrix_profile

_CHANNELS: dict[Space, int] = {"grey": 1, "rgb": 3, "cmyk": 4}
_PIL_MODES: dict[Space, str] = {"grey": "L", "rgb": "RGB", "cmyk": "CMYK"}
_SIGNATURES: dict[bytes, Space] = {b"GRAY": "grey", b"RGB ": "rgb", b"CMYK": "cmyk"}
# A profile that moves no colour by more than one 8-bit level is sRGB, whatever its name says.
_SAME = 257
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
    """Tells whether a sound profile leaves the colours of a test chart where sRGB has them."""
    if space == "cmyk":
        return False
    steps = np.arange(0, 256, 15, dtype=np.uint8)
    grid = steps[:, None] if space == "grey" else np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    chart = np.ascontiguousarray(grid[None])  # (1, N, C)
    converted = to_srgb(chart, space, profile)
    return int(np.abs(converted.astype(np.int64) - 257 * chart.astype(np.int64)).max()) <= _SAME


def to_srgb(pixels: Pixels, space: Space, profile: bytes) -> Pixels:
    """Converts (H, W, C) colour channels to 16-bit sRGB: (H, W, 1) for grey, else (H, W, 3).

    Raises:
        ImageError: The profile is damaged or does not describe such channels.
    """
    with vips.errors_as_image_errors("the ICC profile cannot be used"):
        image = vips.with_block(vips.from_array(pixels, space), "icc-profile-data", profile)
        converted = image.icc_transform("srgb", embedded=True, depth=16, **_INTENT)
        if converted.bands != 3:
            raise ImageError(f"the ICC profile turns {_CHANNELS[space]} channels into {converted.bands}, not into RGB")
        if space == "grey":
            converted = converted.extract_band(1)
        return vips.to_array(converted)


def from_srgb(pixels: Pixels, space: Space, profile: bytes, bits: int) -> Pixels:
    """Converts sRGB (H, W, 1 or 3) to the channels of `profile` at 8 or 16 bits.

    Raises:
        ImageError: The profile has no way back (a scanner's input-only profile).
    """
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    with (
        tempfile.TemporaryDirectory(prefix="pic-uie-") as folder,  # libvips takes an output profile only from a file
        vips.errors_as_image_errors("the result cannot be converted back to the picture's ICC profile"),
    ):
        path = Path(folder) / "profile.icc"
        path.write_bytes(profile)
        image = vips.from_array(pixels, "rgb")
        converted = vips.to_array(image.icc_transform(str(path), input_profile="srgb", depth=bits, **_INTENT))
    if converted.shape[2] != _CHANNELS[space]:
        raise ImageError(f"the ICC profile gives {converted.shape[2]} channels for a picture with {_CHANNELS[space]}")
    return converted


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
    wide = channel.astype(np.uint32)
    return ((wide * 255 + 32767) // 65535).astype(np.uint8)
