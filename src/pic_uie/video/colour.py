"""What the samples of a video stand for: matrix, range, primaries, transfer; read, used, and written again."""

from __future__ import annotations

from dataclasses import dataclass

from pic_uie.errors import VideoError
from pic_uie.yuv import Matrix

# Numbers of ITU-T H.273, as FFmpeg has them.
UNSPECIFIED = 2
_MATRICES: dict[int, Matrix] = {1: "bt709", 4: "bt601", 5: "bt601", 6: "bt601", 7: "bt601", 9: "bt2020"}
_MATRIX_NAMES = {0: "RGB", 8: "YCgCo", 10: "BT.2020 constant luminance", 14: "ICtCp"}
_HDR = {16: "PQ (HDR10)", 18: "HLG"}
_LIMITED, _FULL = 1, 2
_HD_LINES = 720  # from here on, players take untagged video for BT.709


@dataclass(frozen=True)
class Colour:
    """The colour tags of a stream, as numbers of H.273.

    Attributes:
        matrix: What luma and chroma are made with.
        full_range: Whether luma runs from 0 to the largest value.
        tags: Range (FFmpeg's 0, 1, 2), primaries, transfer, matrix: as the file says, written again.
        note: What was assumed because the file does not say it.
    """

    matrix: Matrix
    full_range: bool
    tags: tuple[int, int, int, int]
    note: str | None

    @property
    def is_hdr(self) -> bool:
        """Whether the transfer is PQ or HLG."""
        return self.tags[2] in _HDR

    @property
    def has_2020_primaries(self) -> bool:
        """Whether the primaries are BT.2020's, or not said."""
        return self.tags[1] in (UNSPECIFIED, 9)

    @property
    def hdr_name(self) -> str:
        """What the transfer is called."""
        return _HDR.get(self.tags[2], "")


def read_colour(tags: tuple[int, int, int, int], height: int, *, full_range_format: bool) -> Colour:
    """Understands the tags of a stream.

    Args:
        tags: Range, primaries, transfer, matrix.
        height: Lines of a frame.
        full_range_format: Whether the pixel format itself means full range (yuvj420p).

    Raises:
        VideoError: A matrix that the engine does not know.
    """
    color_range, primaries, transfer, matrix = tags
    if full_range_format:
        color_range = _FULL
    if matrix in _MATRIX_NAMES or (matrix not in _MATRICES and matrix not in (UNSPECIFIED, 3)):
        name = _MATRIX_NAMES.get(matrix, f"matrix {matrix}")
        raise VideoError(f"its colours are {name}, which is not supported; convert it to BT.709 first")
    assumed: list[str] = []
    if matrix in _MATRICES:
        known = _MATRICES[matrix]
    else:
        known = "bt709" if height >= _HD_LINES else "bt601"
        assumed.append("BT.709" if known == "bt709" else "BT.601")
    if color_range not in (_LIMITED, _FULL):
        assumed.append("limited range")
    note = f"it has no colour tags: {' and '.join(assumed)} assumed, as players do" if assumed else None
    if assumed and color_range in (_LIMITED, _FULL):
        note = f"it does not say its colour matrix: {assumed[0]} assumed, as players do"
    elif assumed and matrix in _MATRICES:
        note = "it does not say its range: limited range assumed, as players do"
    return Colour(known, color_range == _FULL, (color_range, primaries, transfer, matrix), note)
