"""Large pictures: what a device with 2 GB of memory can hold, and a clear word where it cannot."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.scenes import scene

WIDTH, HEIGHT = 8000, 6000  # 48 megapixels
LIMIT = 2_000_000_000  # bytes of the renderer alone, of which 1.58 to 1.72 were seen: no proof for 2 GB in all


def peak(browser):
    """The most memory that any renderer of the browser has held so far, in bytes."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    peaks = []
    for process in processes:
        status = Path(f"/proc/{process['id']}/status")
        if process["type"] == "renderer" and status.exists():
            peaks.append(int(re.search(r"VmHWM:\s+(\d+)", status.read_text()).group(1)) * 1024)
    return max(peaks)


@pytest.fixture
def picture(tmp_path):
    tile = scene(1000, 750, 3)
    Image.fromarray(np.tile(tile, (8, 8, 1))).save(tmp_path / "large.jpg", quality=85)
    return tmp_path / "large.jpg"


@pytest.mark.parametrize("form", ["jpeg", "png"])
def test_48_megapixels_fit_into_2_gigabytes(visit, browser, picture, tmp_path, form):
    page = visit()
    page.page.set_default_timeout(400_000)
    page.open(picture)
    page.page.select_option("#format", form)
    result, _ = page.download("#save-one", tmp_path / f"result.{form}")
    with Image.open(result) as image:
        assert image.size == (WIDTH, HEIGHT)
        assert image.format == form.upper()
    assert peak(browser) < LIMIT
