"""HDR → SDR: PQ and HLG in BT.2020 to BT.709, one documented curve.

    R'G'B' ─► light of a display of 1000 cd/m² ─► curve of BT.2390 on the largest of R, G, B ─► BT.709 ─► R'G'B'

White of the result is the 203 cd/m² that BT.2408 calls HDR's reference white. Up to 88 cd/m² light stays as it is; from
there on it bends, so that 1000 cd/m² become white. The three colours are scaled alike. What lies outside of BT.709
moves towards grey of the same luminance, just as far as needed. The code of a light L is L^(1/2.4), which displays
undo (BT.1886).

All of it is a table over R'G'B', which FFmpeg applies with tetrahedral interpolation.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pic_uie.video.colour import Colour
from pic_uie.video.library import pyav

Light = NDArray[np.float64]
PQ, HLG = 16, 18  # transfers, as ITU-T H.273 numbers them
SDR = Colour("bt709", False, (1, 1, 1, 1), None)
PEAK = 1000.0  # cd/m²; more becomes white
WHITE = 203.0  # cd/m²
_GRID = 65
_M1, _M2 = 2610 / 16384, 2523 / 4096 * 128
_C1, _C2, _C3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
_A, _B, _C = 0.17883277, 0.28466892, 0.55991073  # of HLG
_LUMA_2020 = np.array([0.2627, 0.6780, 0.0593])
_LUMA_709 = np.array([0.2126, 0.7152, 0.0722])
_TO_709 = np.array(  # BT.2087
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]]
)
_DISPLAY = 2.4
_METADATA = {
    "MASTERING_DISPLAY_METADATA": "mastering display",
    "CONTENT_LIGHT_LEVEL": "light levels",
    "AMBIENT_VIEWING_ENVIRONMENT": "viewing environment",
    "DYNAMIC_HDR_PLUS": "HDR10+",
    "DYNAMIC_HDR_VIVID": "HDR Vivid",
    "DOVI_RPU_BUFFER": "Dolby Vision",
    "DOVI_METADATA": "Dolby Vision",
}
_FLAGS = "bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"


def pq_light(code: Light) -> Light:
    """Returns the cd/m² of PQ codes from 0 to 1 (SMPTE ST 2084)."""
    power = np.maximum(code, 0.0) ** (1 / _M2)
    return 10_000.0 * (np.maximum(power - _C1, 0.0) / (_C2 - _C3 * power)) ** (1 / _M1)


def pq_code(light: Light) -> Light:
    """Returns the PQ codes of cd/m²."""
    power = (np.maximum(light, 0.0) / 10_000.0) ** _M1
    return ((_C1 + _C2 * power) / (1.0 + _C3 * power)) ** _M2


def hlg_light(code: Light) -> Light:
    """Returns the cd/m² (..., 3) of HLG codes on a display of 1000 cd/m² (BT.2100)."""
    scene = np.where(code <= 0.5, code**2 / 3.0, (np.exp((code - _C) / _A) + _B) / 12.0)
    luminance = scene @ _LUMA_2020
    light: Light = PEAK * np.maximum(luminance, 1e-9)[..., None] ** 0.2 * scene
    return light


def curve(light: Light) -> Light:
    """Returns what becomes of light, both in cd/m²: at most WHITE, never falling (the EETF of BT.2390)."""
    top = pq_code(np.array(PEAK))
    code = np.minimum(pq_code(light) / top, 1.0)
    most = float(pq_code(np.array(WHITE)) / top)
    knee = 1.5 * most - 0.5
    t = np.maximum(code - knee, 0.0) / (1.0 - knee)
    bent = (2 * t**3 - 3 * t**2 + 1) * knee + (t**3 - 2 * t**2 + t) * (1 - knee) + (3 * t**2 - 2 * t**3) * most
    return np.minimum(pq_light(np.where(code < knee, code, bent) * top), WHITE)


def to_sdr(code: Light, transfer: int) -> Light:
    """Returns BT.709 codes (..., 3) of HDR codes (..., 3), both from 0 to 1.

    Args:
        code: R'G'B' of BT.2020.
        transfer: PQ or HLG.
    """
    light = pq_light(code) if transfer == PQ else hlg_light(code)
    largest = np.maximum(light.max(axis=-1, keepdims=True), 1e-6)
    linear = (light * curve(largest) / largest / WHITE) @ _TO_709.T
    grey = np.clip((linear @ _LUMA_709)[..., None], 0.0, 1.0)
    away = linear - grey
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(away > 0, (1.0 - grey) / away, np.where(away < 0, grey / -away, np.inf))
    share = np.minimum(room.min(axis=-1, keepdims=True), 1.0)
    result: Light = np.clip(grey + share * away, 0.0, 1.0) ** (1 / _DISPLAY)
    return result


class ToneMap:
    """Turns HDR frames of one clip into SDR frames of the same size, bits and times.

    Args:
        width: Of frames.
        height: Of frames.
        pixel_format: Of frames, in and out: 4:2:0 planar.
        colour: Of the source; that of results is `SDR`.
    """

    def __init__(self, width: int, height: int, pixel_format: str, colour: Colour) -> None:
        av = pyav()
        self._graph = graph = av.filter.Graph()
        source = graph.add_buffer(width=width, height=height, format=pixel_format, time_base=1)
        come = {"in_color_matrix": colour.matrix, "in_range": "pc" if colour.full_range else "tv"}
        go = {"out_color_matrix": SDR.matrix, "out_range": "tv"}
        with tempfile.TemporaryDirectory(prefix="pic-uie-") as folder:
            table = Path(folder) / "table.cube"
            table.write_text(_cube(colour.tags[2]), encoding="ascii")
            steps = [
                source,
                graph.add("scale", **come, out_range="pc", flags=_FLAGS),
                graph.add("format", pix_fmts="gbrp16le"),
                graph.add("lut3d", file=str(table), interp="tetrahedral"),
                graph.add("scale", in_range="pc", **go, flags=_FLAGS),
                graph.add("format", pix_fmts=pixel_format),
                graph.add("buffersink"),
            ]
            graph.link_nodes(*steps).configure()

    def __call__(self, frame: Any) -> Any:
        """Returns the frame as SDR, with its time."""
        self._graph.push(frame)
        mapped = self._graph.pull()
        mapped.pts = frame.pts
        return mapped


def metadata_of(frame: Any) -> list[str]:
    """Names what a frame carries for HDR displays, which means nothing for SDR."""
    types = {data.type.name for data in frame.side_data}
    return sorted({title for name, title in _METADATA.items() if name in types})


@functools.cache
def _cube(transfer: int) -> str:
    """The table as a .cube file, red fastest."""
    axis = np.linspace(0.0, 1.0, _GRID)
    blue, green, red = np.meshgrid(axis, axis, axis, indexing="ij")
    rows = to_sdr(np.stack([red, green, blue], axis=-1), transfer).reshape(-1, 3)
    lines = map("%.6f %.6f %.6f".__mod__, map(tuple, rows.tolist()))
    return "\n".join([f"LUT_3D_SIZE {_GRID}", *lines, ""])
