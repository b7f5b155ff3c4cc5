"""How coarsely an AV1 picture was quantised, read from its headers (AV1 specification, sections 5.5 and 5.9)."""

from __future__ import annotations

_SEQUENCE, _FRAME_HEADER, _FRAME = 1, 3, 6
_SELECT = 2  # "told in each frame"
_KEY_FRAME = 0
_MAX_TILE_WIDTH, _MAX_TILE_AREA, _MAX_TILES = 4096, 4096 * 2304, 64


class _Bits:
    """Reads bits from the left; past the end there are only zeros."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data[:4096], 0

    def __call__(self, count: int = 1) -> int:
        value = 0
        for _ in range(count):
            byte = self._data[self._at >> 3] if self._at >> 3 < len(self._data) else 0
            value = value << 1 | (byte >> (7 - (self._at & 7))) & 1
            self._at += 1
        return value


def quantiser(data: bytes) -> int | None:
    """Returns the base quantiser index (0 lossless, 255 coarsest) of the first picture; None if unknown."""
    sequence: _Sequence | None = None
    for kind, payload in _units(data):
        if kind == _SEQUENCE:
            sequence = _Sequence(_Bits(payload))
        elif kind in (_FRAME_HEADER, _FRAME) and sequence is not None:
            return _base_index(_Bits(payload), sequence)
    return None


def _units(data: bytes) -> list[tuple[int, bytes]]:
    """Splits the first units (OBU) of a stream: type and content."""
    units: list[tuple[int, bytes]] = []
    at = 0
    while at < len(data) and len(units) < 16:
        header = data[at]
        at += 2 if header & 4 else 1  # with an extension
        size, shift = 0, 0
        if not header & 2:
            size = len(data) - at
        else:
            while at < len(data) and shift < 56:
                byte = data[at]
                size |= (byte & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if byte < 0x80:
                    break
        units.append((header >> 3 & 15, data[at : at + min(size, 4096)]))
        at += size
    return units


class _Sequence:
    """What a sequence header says that frame headers depend on."""

    def __init__(self, bits: _Bits) -> None:
        bits(3 + 1)
        self.reduced = bool(bits())
        self.understood = True
        if self.reduced:
            bits(5)
        else:
            self.understood = not bits()  # pictures have no timing
            has_delay, points = bits(), bits(5)
            for _ in range(points + 1):
                bits(12)
                if bits(5) > 7:
                    bits()
                if has_delay and bits():
                    bits(4)
        wide, high = bits(4) + 1, bits(4) + 1
        self.size_bits = wide, high
        self.size = bits(wide) + 1, bits(high) + 1
        self.id_bits = 0
        if not self.reduced and bits():
            self.id_bits = bits(4) + 2 + bits(3) + 1
        self.large_blocks = bool(bits())
        bits(2)
        self.screen_tools, self.integer_motion, self.hint_bits = _SELECT, _SELECT, 0
        if not self.reduced:
            bits(4)
            has_hints = bits()
            if has_hints:
                bits(2)
            self.screen_tools = _SELECT if bits() else bits()
            if self.screen_tools:
                self.integer_motion = _SELECT if bits() else bits()
            self.hint_bits = bits(3) + 1 if has_hints else 0
        self.super_resolution = bool(bits())


def _base_index(bits: _Bits, sequence: _Sequence) -> int | None:
    if not sequence.understood:
        return None
    if not sequence.reduced and (bits() or bits(2) != _KEY_FRAME or not bits()):
        return None  # not a key frame that is shown
    frozen = bits()
    tools = bits() if sequence.screen_tools == _SELECT else sequence.screen_tools
    if tools and sequence.integer_motion == _SELECT:
        bits()
    bits(sequence.id_bits)
    size = sequence.size
    if not sequence.reduced:
        override = bits()
        bits(sequence.hint_bits)
        if override:
            size = bits(sequence.size_bits[0]) + 1, bits(sequence.size_bits[1]) + 1
    scaled = sequence.super_resolution and bits()
    if scaled:
        size = (size[0] * 8 + (denominator := bits(3) + 9) // 2) // denominator, size[1]
    if bits():
        bits(32)
    if tools and not scaled:
        bits()
    if not (sequence.reduced or frozen):
        bits()
    _skip_tiles(bits, size, sequence.large_blocks)
    return bits(8)


def _skip_tiles(bits: _Bits, size: tuple[int, int], large_blocks: bool) -> None:
    side = 128 if large_blocks else 64
    columns, rows = (-(-length // side) for length in size)
    widest, area = _MAX_TILE_WIDTH // side, _MAX_TILE_AREA // side**2
    least_columns = _log2(widest, columns)
    least = max(least_columns, _log2(area, columns * rows))
    if bits():  # tiles of one size
        across = least_columns
        while across < _log2(1, min(columns, _MAX_TILES)) and bits():
            across += 1
        down = max(least - across, 0)
        while down < _log2(1, min(rows, _MAX_TILES)) and bits():
            down += 1
        if across or down:
            bits(across + down + 2)
        return
    widest_seen, start, count_across = 1, 0, 0
    while start < columns and count_across < _MAX_TILES:
        width = _below(bits, min(columns - start, widest)) + 1
        widest_seen, start, count_across = max(widest_seen, width), start + width, count_across + 1
    largest = columns * rows >> (least + 1) if least else columns * rows
    highest, start, count_down = max(largest // widest_seen, 1), 0, 0
    while start < rows and count_down < _MAX_TILES:
        start, count_down = start + _below(bits, min(rows - start, highest)) + 1, count_down + 1
    across, down = _log2(1, count_across), _log2(1, count_down)
    if across or down:
        bits(across + down + 2)


def _log2(unit: int, target: int) -> int:
    power = 0
    while unit << power < target:
        power += 1
    return power


def _below(bits: _Bits, limit: int) -> int:
    """Reads a number below `limit` (the specification's ns(n))."""
    width = limit.bit_length()
    short = (1 << width) - limit
    value = bits(width - 1)
    return value if value < short else (value << 1) - short + bits()
