"""The plots of the inspection sheet: each draws one correction into one pair of axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie import constants as c
from pic_uie.corrections import identity_lut
from pic_uie.inspection.report import Inspection
from pic_uie.reference import statistics, to_rgb

Array = NDArray[Any]
Axes = Any  # matplotlib.axes.Axes; matplotlib is an extra

INK, PALE = "#22303a", "#8a979f"
BEFORE, AFTER = "#5b7c99", "#d1495b"
_SAMPLES = 4000  # pixels drawn as points


def picture(axes: Axes, image: Array) -> None:
    """Shows RGB (H, W, 3) or grey (H, W) in [0, 1]."""
    axes.imshow(np.clip(image, 0, 1), cmap="gray", vmin=0, vmax=1, interpolation="antialiased")
    frame(axes)


def field(axes: Axes, values: Array, luminance: Array, colors: str) -> None:
    """Shows a field in colour, with the picture's luminance shining through, and its scale."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = float(values.min()), float(values.max())
    if high - low < 0.02:  # a flat field should look flat
        low, high = low - 0.01, high + 0.01
    scale = Normalize(low, high)
    painted = mpl.colormaps[colors](scale(values))[..., :3] * (0.45 + 0.55 * luminance[..., None])
    axes.imshow(np.clip(painted, 0, 1), interpolation="antialiased")
    frame(axes)
    inset = axes.inset_axes((0.0, -0.085, 1.0, 0.04))
    bar = axes.figure.colorbar(ScalarMappable(scale, colors), cax=inset, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.set_ticks([low, 0.5 * (low + high), high])
    bar.set_ticklabels([f"{tick:.2f}" for tick in (low, 0.5 * (low + high), high)])
    inset.tick_params(labelsize=9, length=0, pad=2, labelcolor=INK)
    for label, side in zip(inset.get_xticklabels(), ("left", "center", "right"), strict=True):
        label.set_horizontalalignment(side)


def tone(axes: Axes, inspection: Inspection) -> None:
    """Shows Γ over the histogram of what enters it."""
    curve = inspection.theta.tone
    counts, edges = np.histogram(inspection.steps.y1, bins=64, range=(0, 1))
    axes.fill_between(edges[:-1], 0.9 * counts / max(counts.max(), 1), step="post", color="#d9e2e8", lw=0)
    axes.plot([0, 1], [0, 1], color=PALE, lw=1, ls=(0, (4, 3)))
    axes.plot(np.linspace(0, 1, curve.size), curve, color=AFTER, lw=2.4)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ticks(axes, (0, 0.5, 1), (0, 1), "Y¹", "Γ(Y¹)")


def chroma(axes: Axes, inspection: Inspection) -> None:
    """Shows U as a deformed grid over the CbCr plane, with the density of the picture's own chroma."""
    steps, lut = inspection.steps, inspection.theta.lut * c.CHROMA_LIMIT
    both = np.concatenate([steps.q.reshape(-1, 2), steps.q1.reshape(-1, 2)])
    limit = float(np.clip(1.6 * np.quantile(np.abs(both), 0.98), 0.16, 0.5))
    axis = np.linspace(-limit, limit, 128)
    plane = np.stack([np.full((128, 128), 0.62), *np.meshgrid(axis, axis)], axis=-1)
    axes.imshow(
        0.35 + 0.65 * np.clip(to_rgb(plane), 0, 1), extent=(-limit, limit, -limit, limit), origin="lower", alpha=0.85
    )
    bins = np.linspace(-limit, limit, 97)
    density, _, _ = np.histogram2d(steps.q[..., 1].ravel(), steps.q[..., 0].ravel(), bins=[bins, bins])
    veil = np.zeros((96, 96, 4))
    veil[..., :3] = (0.13, 0.19, 0.23)
    veil[..., 3] = 0.9 * (density / max(density.max(), 1)) ** 0.3
    axes.imshow(veil, extent=(-limit, limit, -limit, limit), origin="lower", interpolation="bilinear")
    straight = identity_lut(lut.shape[-1]) * c.CHROMA_LIMIT
    for grid, color, width in ((straight, "white", 0.9), (lut, AFTER, 1.5)):
        for lines in (grid, grid.transpose(0, 2, 1)):
            axes.plot(lines[0].T, lines[1].T, color=color, lw=width, solid_capstyle="round")
    axes.scatter(lut[0], lut[1], s=9, color=AFTER, zorder=3, lw=0)
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    end = round(limit, 2)
    ticks(axes, (-end, 0, end), (-end, 0, end), "Cb", "Cr")


def matrix(axes: Axes, values: Array, identity: Array, columns: tuple[str, ...]) -> None:
    """Shows a matrix as numbers on colours that show the difference from `identity`."""
    change = values - identity
    reach = max(float(np.abs(change).max()), 0.15)
    axes.imshow(change, cmap="RdBu_r", vmin=-1.6 * reach, vmax=1.6 * reach)
    for (row, column), value in np.ndenumerate(values):
        axes.text(column, row, f"{value:+.2f}", ha="center", va="center", fontsize=11, color=INK)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(3), ("Y", "Cb", "Cr"))
    axes.tick_params(length=0, labelsize=11, labelcolor=INK)
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks([0.5, 1.5], minor=True)
    axes.grid(which="minor", color="white", lw=2)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)


def ellipsoids(axes: Axes, inspection: Inspection) -> None:
    """Shows the covariance ellipsoids (two deviations) of z¹ and z² among the pixels of the result, in 3-D."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    steps = inspection.steps
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 33), np.linspace(0, np.pi, 17))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    shells = []
    for z, color in ((steps.z1, BEFORE), (steps.z2, AFTER)):
        mean, covariance = statistics(z)
        shell = mean + 2 * sphere @ np.linalg.cholesky(covariance).T  # (17, 33, [Y, Cb, Cr])
        axes.plot_wireframe(
            shell[..., 1], shell[..., 2], shell[..., 0], color=color, lw=0.7, alpha=0.75, rstride=2, cstride=2
        )
        shells.append(shell.reshape(-1, 3))
    low, high = np.concatenate(shells).min(axis=0), np.concatenate(shells).max(axis=0)
    axes.set(xlim=(low[1], high[1]), ylim=(low[2], high[2]), zlim=(low[0], high[0]))
    axes.set_box_aspect((1, 1, 0.85), zoom=1.12)
    axes.view_init(elev=20, azim=-52)
    for axis, label in zip((axes.xaxis, axes.yaxis, axes.zaxis), ("Cb", "Cr", "Y"), strict=True):
        axis.set_pane_color((0.965, 0.97, 0.975, 1))
        axis.line.set_color(PALE)
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(NullFormatter())
        axis._axinfo["grid"].update(color="#e3e8eb", linewidth=0.7)
        axis.set_label_text(label, color=INK, fontsize=11)
        axis.labelpad = -11
    axes.tick_params(length=0)
    axes.patch.set_alpha(0)


def projection(axes: Axes, inspection: Inspection) -> None:
    """Shows the same ellipsoids from above, on the chroma plane, with a sample of the result's pixels."""
    steps = inspection.steps
    pixels, colors = steps.z2.reshape(-1, 3), steps.result.reshape(-1, 3)
    chosen = np.linspace(0, len(pixels) - 1, min(_SAMPLES, len(pixels))).astype(int)
    axes.scatter(pixels[chosen, 1], pixels[chosen, 2], s=5, c=colors[chosen], alpha=0.55, lw=0)
    angle = np.linspace(0, 2 * np.pi, 129)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    outlines = []
    for z, color in ((steps.z1, BEFORE), (steps.z2, AFTER)):
        mean, covariance = statistics(z)
        outline = mean[1:] + 2 * circle @ np.linalg.cholesky(covariance[1:, 1:]).T
        axes.plot(outline[:, 0], outline[:, 1], color="white", lw=4)
        axes.plot(outline[:, 0], outline[:, 1], color=color, lw=2)
        axes.plot(*mean[1:], marker="o", ms=4, color=color)
        outlines.append(outline)
    axes.axhline(0, color=PALE, lw=0.7, zorder=0)
    axes.axvline(0, color=PALE, lw=0.7, zorder=0)
    reach = max(1.15 * float(np.abs(np.concatenate(outlines)).max()), 0.05)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    end = float(f"{0.8 * reach:.1g}")
    ticks(axes, (-end, 0, end), (-end, 0, end), "Cb", "Cr")


def frame(axes: Axes) -> None:
    """Leaves a picture without ticks and with a hairline around it."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color="#c9d1d6", linewidth=0.8)


def ticks(axes: Axes, x: tuple[float, ...], y: tuple[float, ...], x_label: str, y_label: str) -> None:
    """Sets few ticks, quiet spines and the labels inside the margin."""
    axes.set_xticks(x, [f"{tick:g}" for tick in x])
    axes.set_yticks(y, [f"{tick:g}" for tick in y])
    axes.tick_params(labelsize=9, length=2, color=PALE, labelcolor=PALE)
    axes.set_xlabel(x_label, fontsize=11, color=INK, labelpad=0)
    axes.set_ylabel(y_label, fontsize=11, color=INK, labelpad=-1)
    for spine in axes.spines.values():
        spine.set(color="#c9d1d6", linewidth=0.8)
