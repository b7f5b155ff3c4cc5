"""4:2:0 frames by the definition, in double: what the planar path of the core is compared with."""

import numpy as np

from pic_uie.yuv import LUMA_WEIGHTS, Yuv


def levels(full_range, bits):
    unit, highest = 2 ** (bits - 8), 2**bits - 1
    return (highest, 0, highest, 128 * unit) if full_range else (219 * unit, 16 * unit, 224 * unit, 128 * unit)


def to_rgb(frame):
    """(H, W, 3) in [0, 1]; every pixel has the chroma of the sample it belongs to."""
    kr, kb = LUMA_WEIGHTS[frame.matrix]
    luma, black, chroma, grey = levels(frame.full_range, frame.bits)
    height, width = frame.y.shape
    cb, cr = (plane.repeat(2, 0).repeat(2, 1)[:height, :width] for plane in (frame.cb, frame.cr))
    y, cb, cr = (frame.y - float(black)) / luma, (cb - float(grey)) / chroma, (cr - float(grey)) / chroma
    red, blue = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    return np.clip(np.stack([red, (y - kr * red - kb * blue) / (1 - kr - kb), blue], -1), 0.0, 1.0)


def to_yuv(rgb, matrix="bt709", full_range=False, bits=8):
    """The frame of an (H, W, 3) picture in [0, 1], chroma as the mean of its pixels."""
    kr, kb = LUMA_WEIGHTS[matrix]
    luma, black, chroma, grey = levels(full_range, bits)
    y = rgb @ np.array([kr, 1 - kr - kb, kb])

    def halved(plane):
        plane = np.pad(plane, ((0, plane.shape[0] % 2), (0, plane.shape[1] % 2)), mode="edge")
        return (plane[::2, ::2] + plane[1::2, ::2] + plane[::2, 1::2] + plane[1::2, 1::2]) / 4

    def samples(plane):
        return np.clip(np.floor(plane + 0.5), 0, 2**bits - 1).astype(np.uint8 if bits == 8 else np.uint16)

    cb, cr = halved(rgb[..., 2] - y) / (2 * (1 - kb)), halved(rgb[..., 0] - y) / (2 * (1 - kr))
    return Yuv(
        samples(y * luma + black), samples(cb * chroma + grey), samples(cr * chroma + grey), matrix, full_range, bits
    )


def through_rgb(enhance, frame):
    """What the RGB path makes of a frame: to RGB, enhanced, and back."""
    enhanced = enhance(to_rgb(frame).astype(np.float32))
    return to_yuv(enhanced.astype(np.float64), frame.matrix, frame.full_range, frame.bits)


def difference(one, other):
    """Mean absolute difference in 8-bit levels, and PSNR, over all samples of two frames."""
    unit = 2.0 ** (one.bits - 8)
    pairs = [(getattr(one, name) / unit, getattr(other, name) / unit) for name in ("y", "cb", "cr")]
    errors = np.concatenate([np.abs(a - b).ravel() for a, b in pairs])
    mean_square = np.mean(errors**2)
    return float(errors.mean()), float("inf") if mean_square == 0 else float(10 * np.log10(255**2 / mean_square))
