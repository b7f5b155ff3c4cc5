"""What the exit code of `pic-uie` says."""

from typing import Final

OK: Final = 0
FAILED: Final = 1  # some inputs failed
USAGE: Final = 2
NOTHING_MATCHED: Final = 3
ENVIRONMENT: Final = 4  # something outside the package is missing
INTERRUPTED: Final = 130
