"""`python -m pic_uie`: the command line."""

import sys

from pic_uie.cli.main import main

sys.exit(main())
