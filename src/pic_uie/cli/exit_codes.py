"""What the exit code of `pic-uie` says."""

from typing import Final

OK: Final = 0
FAILED: Final = 1  # some inputs failed
USAGE: Final = 2
NOTHING_MATCHED: Final = 3
ENVIRONMENT: Final = 4  # missing dependency or weights, or disk full
INTERRUPTED: Final = 130
