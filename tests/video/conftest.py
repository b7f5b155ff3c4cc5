import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def enhancer():
    from pic_uie import Enhancer

    return Enhancer(threads=2)


@pytest.fixture(scope="session")
def video_data():
    folder = Path(os.environ.get("PIC_UIE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "video"
    if not folder.is_dir():
        pytest.skip("the real videos are not here (PIC_UIE_DATA)")
    return folder
