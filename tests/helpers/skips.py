"""What was skipped, and how to enable it; with PIC_UIE_STRICT=1 a skip that could be enabled fails.

`ALLOWED` are the reasons that no installation removes. Every other reason names its remedy, or `REMEDIES` does.
"""

import os
import re
from collections import Counter

ALLOWED = {  # reason -> what it would take
    r"\(root\)": "run the tests as another user than root",
    r"CUDA": "a machine with (or without) a CUDA device",
    r"gcsfs|adlfs|azurite": "pip install gcsfs gcp-storage-emulator adlfs -c constraints.txt; npm install azurite",
    r"detection extra": "pip install 'pic-uie[detection]', which is under the AGPL-3.0 and brings torchvision",
    r"research data|PIC_UIE_DATA|no depth network|data/native|data/video": "point PIC_UIE_DATA at the research data",
    r"mount|tmpfs|small file system": "run as root, with the right to mount",
    r"x86-64's|on x86-64": "a machine with an x86-64 processor",
    r"/proc|Linux|no fork|no pipes": "run on Linux",
    r"package index|npm cannot fetch": "connect to the network",
    r"the first run was over": "nothing: the next run may be slower",
    r"no objects of an x86-64 build": "build in this checkout: pip install -e .",
}
REMEDIES = {  # the first that fits
    r"pic_uie\._": "pip install -e .",
    r"exiftool": "apt install libimage-exiftool-perl",
    r"ffmpeg": "apt install ffmpeg",
    r"could not import|not installed|scikit-image": "pip install -e '.[train,test]'",
}


def judge(report):
    """Turns a skip into a failure where PIC_UIE_STRICT=1 and it could be enabled."""
    if os.environ.get("PIC_UIE_STRICT") != "1" or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    why = reason(report)
    if why is not None and not is_allowed(why):
        report.outcome = "failed"
        report.longrepr = f"skipped, which PIC_UIE_STRICT=1 does not allow: {why}\nto enable it: {remedy(why)}"


def reason(report):
    """Why a test or a module was skipped."""
    where = report.longrepr
    return where[2].removeprefix("Skipped: ") if isinstance(where, tuple) else None


def is_allowed(why):
    return any(re.search(pattern, why) for pattern in ALLOWED)


def remedy(why):
    """How to enable what was skipped for this reason."""
    if install := re.search(r"(apt|pip|npm) install .*", why):
        return install[0]
    for pattern, words in (ALLOWED | REMEDIES).items():
        if re.search(pattern, why):
            return words
    return "see the reason"


def summarise(terminal):
    """Lists the reasons at the end, each once, with the number of tests and the remedy."""
    counts = Counter(filter(None, map(reason, terminal.stats.get("skipped", []))))
    if counts:
        terminal.section("skipped, and how to enable it")
    for why, count in counts.most_common():
        terminal.write_line(f"{count} x {why}\n    -> {remedy(why)}")
