import os
from pathlib import Path

import pytest

pytest.importorskip("cv2", reason="the evaluate extra is not installed")


@pytest.fixture(scope="session")
def data(root):
    """The folder of research data, where this machine has it."""
    folder = Path(os.environ.get("PIC_UIE_DATA", root.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the research data: {folder} does not exist, and PIC_UIE_DATA names no other")
    return folder


@pytest.fixture(scope="session")
def assets(data):
    """The folder of published LPIPS and NIQE parameters."""
    return data / "metrics"
