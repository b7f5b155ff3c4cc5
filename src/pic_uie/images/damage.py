"""Damaged files: what of their pixels can still be decoded, where that is enough, and how much of them is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from pic_uie.errors import ImageError
from pic_uie.images import vips

_SALVAGED = frozenset({"jpegload", "pngload", "tiffload", "gifload"})  # the others need every byte
_REMEDY = "--salvage enhances what can be decoded of it"
_MOST_STEPS = 1024  # in which the whole rows of a picture are counted


@dataclass(frozen=True)
class Damage:
    """What is wrong with a picture of which only a part was decoded.

    Attributes:
        reason: What the decoder says.
        whole: Rows that were decoded before it said so; some of the others may be whole too.
        height: All rows.
    """

    reason: str
    whole: int
    height: int

    def __str__(self) -> str:
        """Says how much was lost."""
        rows = f"at least {self.whole} of its {self.height} rows are whole"
        if not self.whole:
            rows = f"none of its {self.height} rows is certain to be whole"
        return f"it is damaged ({self.reason}): {rows}; of the rest, what could be decoded was enhanced"


def worst(damages: Iterable[Damage | None]) -> Damage | None:
    """Returns the damage of a picture in several parts: that with the fewest whole rows."""
    return min((damage for damage in damages if damage is not None), key=lambda damage: damage.whole, default=None)


class Reader:
    """A file that libvips reads: the header at once, the pixels when they are asked for.

    Args:
        loader: Name of libvips's operation.
        data: The file.
        title: Name of the format for messages.
        salvage: Whether what can be decoded of a damaged file is enough.
        count_rows: Counts the whole rows of a damaged file, where libvips does not read a file row by row.

    Raises:
        ImageError: No such loader in this build of libvips, or a header that it does not read.
    """

    def __init__(
        self,
        loader: str,
        data: bytes,
        *,
        title: str,
        salvage: bool = False,
        count_rows: Callable[[], int] | None = None,
    ) -> None:
        self._loader, self._data, self._title = loader, data, title
        self._salvage = salvage and loader in _SALVAGED
        self._count_rows = count_rows or self._rows_in_order
        self._damage: Damage | None = None
        self._fault: ImageError | None = None
        try:
            self.image = self._opened()
        except ImageError as error:
            self.image = self._opened_in_spite_of(error)

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.image.width)

    @property
    def height(self) -> int:
        """Pixels down."""
        return int(self.image.height)

    def samples(self) -> NDArray[Any]:
        """Decodes the pixels.

        Raises:
            ImageError: They are damaged, and a part is not enough or cannot be decoded either.
        """
        if self._fault is None:
            try:
                return vips.samples(self.image, self._title, self._loader)
            except ImageError as error:
                if not self._salvage:
                    raise self._with_remedy(error) from error
                self._fault = error
        samples = vips.samples(self._opened(leniently=True), self._title, self._loader)
        reason = str(self._fault).partition(": ")[2] or str(self._fault)
        self._damage = Damage(reason, self._count_rows(), self.height)
        return samples

    def damage(self) -> Damage | None:
        """Returns what was lost when the samples were decoded; None: nothing."""
        return self._damage

    def _opened(self, *, leniently: bool = False) -> Any:
        return vips.open_lazily(self._loader, self._data, title=self._title, leniently=leniently)

    def _opened_in_spite_of(self, error: ImageError) -> Any:
        """Opens a file whose header is read only if damage is no hindrance."""
        try:
            image = self._opened(leniently=True) if self._loader in _SALVAGED else None
        except ImageError:
            image = None
        if image is None:
            raise error
        if not self._salvage:
            raise self._with_remedy(error) from error
        self._fault = error
        return image

    def _with_remedy(self, error: ImageError) -> ImageError:
        can_help = self._loader in _SALVAGED and str(error).startswith("damaged ")
        return ImageError(f"{error}; {_REMEDY}") if can_help else error

    def _rows_in_order(self) -> int:
        """Counts the rows that can be read one after the other without an error."""
        height, whole = self.height, 0
        step = -(-height // _MOST_STEPS)
        try:
            with vips.errors_as_image_errors("damaged"):
                region = vips.library().Region.new(self._opened())
                while whole < height:
                    region.fetch(0, whole, self.width, min(step, height - whole))
                    whole += step
        except ImageError:
            return whole
        return min(whole, height)
