"""The process `pic-uie`: silent when interrupted while it starts or ends, untroubled by a full standard error."""

import signal

# First of all, for as long as the rest is imported: Ctrl-C ends the process as it ends any other, without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys

from pic_uie.cli.signals import leave_silently
from pic_uie.cli.streams import forgive_errors


def start() -> None:
    """Runs the command line and exits."""
    leave_silently()
    forgive_errors()
    from pic_uie.cli.main import main

    code = main()
    leave_silently()
    sys.exit(code)


if __name__ == "__main__":
    start()
