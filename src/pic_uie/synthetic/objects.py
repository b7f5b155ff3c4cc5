"""What stands on the sea floor or swims above it: boulders, corals, sponges, sea fans, fish, a colour chart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.synthetic import noise
from pic_uie.synthetic.canvas import Canvas, pixel_offsets

Array = NDArray[np.floating[Any]]
Color = tuple[float, float, float]

CORAL_COLORS: tuple[Color, ...] = (
    (0.62, 0.43, 0.22),  # ochre
    (0.52, 0.22, 0.16),  # brick
    (0.66, 0.36, 0.38),  # pink
    (0.36, 0.21, 0.38),  # purple
    (0.70, 0.58, 0.32),  # yellow
    (0.38, 0.39, 0.18),  # olive
    (0.60, 0.55, 0.45),  # bone
)
FISH_COLORS: tuple[Color, ...] = ((0.72, 0.52, 0.10), (0.12, 0.14, 0.20), (0.55, 0.57, 0.58), (0.70, 0.25, 0.08))
# The 24 patches of the classic colour chart as sRGB, row by row.
_CHART_SRGB = """
735244 c29682 627a9d 576c43 8580b1 67bdaa
d67e2c 505ba6 c15a63 5e3c6c 9dbc40 e0a32e
383d96 469449 af363c e7c71f bb5695 0885a1
f3f3f2 c8c8c8 a0a0a0 7a7a79 555555 343434"""
_CHART_BYTES = np.frombuffer(bytes.fromhex(_CHART_SRGB), np.uint8).reshape(4, 6, 3)
CHART: Array = np.moveaxis((_CHART_BYTES / np.float32(255)) ** 2.2, -1, 0)  # (3, 4, 6), linear


def _planes(color: Color) -> Array:
    """Returns a colour as (3, 1, 1), to be spread over a window."""
    return np.array(color, np.float32)[:, None, None]


def boulder(
    canvas: Canvas, rng: np.random.Generator, column: float, row: float, z: float, size: float, radius: float
) -> None:
    """Paints a rounded stone or a massive coral of `size` pixels (`radius` metres) resting on (column, row)."""
    flat = float(rng.uniform(0.55, 1.0))
    center_row = row - 0.55 * size * flat
    canvas.darken(column, row, 1.25 * size, 0.45 * size * flat, z, 0.55)
    window = canvas.window(column, center_row, 1.35 * size, 1.35 * size * flat)
    if window is None:
        return
    dx, dy = pixel_offsets(window, column, center_row)
    dx, dy = dx / size, dy / (size * flat)
    u, v = float(rng.random()), float(rng.random())
    span = float(rng.uniform(0.12, 0.25))
    level = int(np.clip(np.log2(noise.TILE * span / max(size, 1.0)), 0, noise.LEVELS - 2))
    lumps = noise.lookup(noise.clouds(), u + 0.4 * span * dx, v + 0.4 * span * dy, 4)
    squared = dx * dx + dy * dy
    reach = 1 + 0.1 * lumps
    bulge = np.sqrt(np.maximum(1 - squared / (reach * reach), 0))
    coverage = np.clip((reach - np.sqrt(squared)) * size, 0, 1)
    coverage *= np.clip((row - dy * size * flat - center_row) / (0.08 * size) + 0.5, 0, 1)

    # The texture wraps around the bulge, so that it crowds toward the rim.
    wrap = span * (1.5 - 0.5 * bulge)
    texture = noise.lookup(noise.clouds(), u + wrap * dx, v + wrap * dy, level)
    tint = noise.lookup(noise.clouds(), v + wrap * dx, u + wrap * dy, min(level + 2, noise.LEVELS - 1))
    massive_coral = rng.random() < 0.4
    if massive_coral and size > 12:  # brain coral: winding grooves
        texture = 0.9 * np.sin(9 * tint + 14 * np.hypot(dx, dy)) + 0.3 * texture
    down, across = np.gradient(texture) if min(texture.shape) > 1 else (0 * texture, 0 * texture)
    relief = 0.32 * min(size / 14, 4)
    nx, ny, nz = dx / reach - relief * across, -dy / reach + relief * down, -bulge - 0.15
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    shade = canvas.light.shade(nx / length, ny / length, nz / length)
    shade = shade * np.clip(1 + 0.22 * texture, 0.3, 1.6) * np.clip(0.85 - 0.55 * dy, 0.35, 1.1)
    base = _planes(CORAL_COLORS[rng.integers(len(CORAL_COLORS))])
    if not massive_coral:
        base = 0.35 * base + 0.65 * _planes((0.30, 0.27, 0.22))
    other = _planes(CORAL_COLORS[rng.integers(len(CORAL_COLORS))])
    mix = np.clip(0.25 + 0.45 * tint, 0, 0.75)
    canvas.paint(window, coverage, (base + mix * (other - base)) * shade, z - radius * bulge)


def branching(
    canvas: Canvas, rng: np.random.Generator, column: float, row: float, z: float, size: float, radius: float
) -> None:
    """Paints a branching coral, or a flat sea fan, `size` pixels high (`radius` metres) rooted at (column, row)."""
    fan = rng.random() < 0.3
    color = _planes(CORAL_COLORS[rng.integers(len(CORAL_COLORS))])
    canvas.darken(column, row, 0.7 * size, 0.18 * size, z, 0.5)
    trunks = int(rng.integers(4, 7) if fan else rng.integers(5, 9))
    thinnest = max((0.009 if fan else 0.018) * size, 0.85)
    tips: list[tuple[float, float, float, float, float, float]] = []  # column, row, depth, angle, length, thickness
    for _ in range(trunks):
        lean = float(rng.normal(0, 0.5 if fan else 0.65))
        depth = z + radius * float(rng.uniform(-0.5, 0.5)) * (not fan)
        length, thickness = size * float(rng.uniform(0.26, 0.4)), size * float(rng.uniform(0.035, 0.055))
        tips.append((column + 0.35 * size * math.sin(lean), row, depth, lean, length, thickness * (0.7 if fan else 1)))
    segments = []
    while tips:
        tip_column, tip_row, depth, angle, length, thickness = tips.pop()
        end = tip_column + length * math.sin(angle), tip_row - length * math.cos(angle)
        segments.append((depth, tip_column, tip_row, *end, thickness))
        if thickness < thinnest:
            continue
        for side in (-1, 1) if rng.random() < 0.85 else (-1, 0, 1):
            turn = angle + side * float(rng.uniform(0.2, 0.55)) - 0.12 * angle  # branches turn up to the light
            depth_step = 0 if fan else radius * 0.12 * float(rng.normal())
            shorter = length * float(rng.uniform(0.62, 0.85))
            tips.append((*end, depth + depth_step, turn, shorter, thickness * (0.72 if fan else 0.76)))
    for depth, *segment in sorted(segments, key=lambda item: -item[0]):
        _capsule(canvas, segment, depth, color)


def _capsule(canvas: Canvas, segment: list[float], z: float, color: Array) -> None:
    x0, y0, x1, y1, thickness = segment
    half_width, half_height = abs(x1 - x0) / 2 + thickness + 1, abs(y1 - y0) / 2 + thickness + 1
    window = canvas.window((x0 + x1) / 2, (y0 + y1) / 2, half_width, half_height)
    if window is None:
        return
    dx, dy = pixel_offsets(window, x0, y0)
    ax, ay = x1 - x0, y1 - y0
    length = max(math.hypot(ax, ay), 1e-3)
    along = np.clip((dx * ax + dy * ay) / (length * length), 0, 1)
    across = (dx * ay - dy * ax) / (length * thickness)  # -1..1 over the width
    px, py = dx - along * ax, dy - along * ay
    coverage = np.clip(thickness + 0.5 - np.sqrt(px * px + py * py), 0, 1)
    side = np.clip(across, -1, 1)
    nx, ny, nz = side * ay / length, side * ax / length, -np.sqrt(1 - side * side)
    pale = 1 + 0.35 * along * (thickness > 1)  # growing tips are paler
    shade = canvas.light.shade(nx, ny, nz) * pale
    if thickness > 4:  # thick enough to show its skin
        u, v = 0.05 * np.arcsin(side) + 0.001 * x0, 0.05 * along * length / thickness + 0.001 * y0
        shade = shade * np.clip(1 + 0.16 * noise.lookup(noise.clouds(), u, v, 1), 0.5, 1.5)
    canvas.paint(window, coverage, color * shade, z)


def sponges(
    canvas: Canvas, rng: np.random.Generator, column: float, row: float, z: float, size: float, radius: float
) -> None:
    """Paints a group of tube sponges, the highest `size` pixels high, rooted at (column, row)."""
    color = _planes(CORAL_COLORS[rng.integers(len(CORAL_COLORS))])
    canvas.darken(column, row, 0.5 * size, 0.15 * size, z, 0.5)
    for depth in sorted(rng.uniform(-0.4, 0.4, int(rng.integers(3, 7))).tolist(), reverse=True):
        lean, height = float(rng.normal(0, 0.22)), size * float(rng.uniform(0.4, 1.0))
        thickness, root = size * float(rng.uniform(0.08, 0.12)), column + 0.3 * size * float(rng.normal())
        top_column, top_row = root + height * math.sin(lean), row - height * math.cos(lean)
        _capsule(canvas, [root, row, top_column, top_row, thickness], z + radius * depth, color)
        window = canvas.window(top_column, top_row, thickness, thickness)
        if window is not None:
            dx, dy = pixel_offsets(window, top_column, top_row - 0.2 * thickness)
            distance = np.sqrt((dx / (0.66 * thickness)) ** 2 + (dy / (0.42 * thickness)) ** 2)
            opening = np.clip((1 - distance) * 0.5 * thickness, 0, 1)
            canvas.paint(window, opening, 0.12 * color, z + radius * depth - 0.01)


def fish(
    canvas: Canvas, rng: np.random.Generator, column: float, row: float, z: float, size: float, color: Color
) -> None:
    """Paints a fish `size` pixels long that swims left or right, dark above and pale below."""
    window = canvas.window(column, row, 0.62 * size, 0.4 * size)
    if window is None:
        return
    dx, dy = pixel_offsets(window, column, row)
    angle, facing = float(rng.normal(0, 0.15)), float(rng.choice((-1.0, 1.0)))
    cos, sin = math.cos(angle), math.sin(angle)
    x = facing * (dx * cos + dy * sin) / size  # head at +0.5, tail at -0.5
    y = (dy * cos - dx * sin) / size
    body = 0.19 * np.sqrt(np.maximum(1 - (np.abs(x - 0.08) / 0.42) ** 2.2, 0)) - np.abs(y)
    tail = np.minimum(0.02 - 0.62 * (x + 0.26) - np.abs(y), np.minimum(-0.2 - x, x + 0.5 - 0.25 * (0.2 - np.abs(y))))
    fin = np.minimum(0.27 - np.abs(x) * 0.55 + y * 0 - np.abs(y + 0.05), 0.2 - np.abs(x + 0.02)) - 0.03
    shape = np.maximum(np.maximum(body, tail), np.minimum(fin, 0.24 - np.abs(y)))
    coverage = np.clip(shape * size + 0.5, 0, 1)
    ny = np.clip(-y / 0.19, -1, 1)
    shade = canvas.light.shade(np.zeros_like(ny), ny, -np.sqrt(1 - ny * ny))
    stripes = 1 - 0.6 * (np.sin(x * 26 + 1.5) > 0.55) * (body > 0)
    eye = np.hypot(x - 0.36, y + 0.035) < 0.028
    countershade = np.clip(0.8 + 2.2 * y, 0.35, 1.3)
    brightness = shade * stripes * countershade * np.where(eye, 0.1, 1.0)
    canvas.paint(window, coverage, _planes(color) * brightness, z)


def chart(canvas: Canvas, rng: np.random.Generator, column: float, row: float, z: float, size: float) -> None:
    """Paints a colour chart `size` pixels wide, leaning back a little, its lower edge at (column, row)."""
    canvas.darken(column, row, 0.7 * size, 0.12 * size, z, 0.5)
    tilt, lean = float(rng.normal(0, 0.18)), float(rng.uniform(0.75, 1.0))
    center_row = row - 0.36 * size * lean
    window = canvas.window(column, center_row, 0.75 * size, 0.65 * size)
    if window is None:
        return
    dx, dy = pixel_offsets(window, column, center_row)
    x = (dx * math.cos(tilt) + dy * math.sin(tilt)) / size
    y = (dy * math.cos(tilt) - dx * math.sin(tilt)) / (size * lean)
    coverage = np.clip(np.minimum(0.5 - np.abs(x), 0.345 - np.abs(y)) * size + 0.5, 0, 1)
    u, v = (x + 0.47) / 0.94 * 6, (y + 0.315) / 0.63 * 4
    patch = CHART[:, np.clip(v, 0, 3).astype(int), np.clip(u, 0, 5).astype(int)]
    gap = np.minimum(np.abs(u - np.round(u)) / 6 * 0.94, np.abs(v - np.round(v)) / 4 * 0.63)
    edge = np.clip((gap - 0.01) * size + 0.5, 0, 1)
    flat = np.full(x.shape, 0.55, np.float32)
    shade = canvas.light.shade(0 * flat, flat, -np.sqrt(1 - flat * flat))
    canvas.paint(window, coverage, (0.03 + edge * (patch - 0.03)) * shade, z)
