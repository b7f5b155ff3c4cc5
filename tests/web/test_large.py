"""Large pictures: what a device with 2 GB of memory can hold, and a clear word where it cannot."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.scenes import scene, write

WIDTH, HEIGHT = 8000, 6000  # 48 megapixels
LIMIT = 1_300_000_000  # bytes of the renderer; 0.58 (PNG) to 0.83 (JPEG) were seen, before strips 1.5 and more


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


def large(path, tiles, orientation=1):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.tile(scene(1000, 750, 3), (tiles, tiles, 1))).save(path, quality=85, exif=exif)
    return path


@pytest.mark.parametrize(("form", "orientation"), [("jpeg", 1), ("jpeg", 6), ("png", 1)])
def test_48_megapixels_fit_into_2_gigabytes(visit, browser, tmp_path, form, orientation):
    page = visit()
    page.page.set_default_timeout(400_000)
    page.open(large(tmp_path / "large.jpg", 8, orientation))
    page.page.click("#zoom-actual")
    page.page.wait_for_selector("#viewer[data-part]")
    page.page.select_option("#format", form)
    result, _ = page.download("#save-one", tmp_path / f"result.{form}")
    with Image.open(result) as image:
        assert image.size == ((WIDTH, HEIGHT) if orientation == 1 else (HEIGHT, WIDTH))
        assert image.format == form.upper()
    print(f"{form}, orientation {orientation}: {peak(browser) / 1e6:.0f} MB")
    assert peak(browser) < LIMIT


def test_pictures_of_a_batch_leave_nothing_behind(visit, browser, tmp_path):
    page = visit()
    page.page.set_default_timeout(400_000)
    page.open(*(large(tmp_path / f"{i}.jpg", 4) for i in range(2)))
    page.download("#save-all", tmp_path / "two.zip")
    before = peak(browser)
    page.open(*(large(tmp_path / f"{i}.jpg", 4) for i in range(2, 8)))
    page.download("#save-all", tmp_path / "eight.zip")
    print(f"2 pictures of 12 megapixels: {before / 1e6:.0f} MB, 8: {peak(browser) / 1e6:.0f} MB")
    assert peak(browser) < before + 250_000_000  # the pixels of six more pictures are 288 MB


def patched(path, at, *numbers):
    """Writes numbers over the file's own, from `at` on."""
    content = path.read_bytes()
    start = at if isinstance(at, int) else content.index(at) + len(at)
    path.write_bytes(content[:start] + b"".join(numbers) + content[start + sum(map(len, numbers)) :])
    return path


def both(size, order, less=0):
    return [(side - less).to_bytes(size, order) for side in (WIDTH, HEIGHT)]


LOSSLESS = (WIDTH - 1 | (HEIGHT - 1) << 14).to_bytes(4, "little")
HEADERS = {
    "large.png": (16, both(4, "big"), {}),
    "large.jpg": (b"\xff\xc0\x00\x11\x08", both(2, "big")[::-1], {}),
    "large.gif": (6, both(2, "little"), {}),
    "large.bmp": (18, both(4, "little"), {}),
    "lossy.webp": (b"\x9d\x01\x2a", both(2, "little"), {}),
    "lossless.webp": (b"VP8L", [b"\x20\0\0\0\x2f", LOSSLESS], {"lossless": True}),
    "extended.webp": (24, both(3, "little", 1), {"exif": Image.Exif().tobytes() or b"Exif\0\0"}),
    "large.avif": (b"ispe\0\0\0\0", both(4, "big"), {}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_what_a_small_device_cannot_hold_is_refused_before_any_work(visit, tmp_path, name):
    at, numbers, options = HEADERS[name]
    path = patched(write(tmp_path / name, scene(64, 48, 3), **options), at, *numbers)  # cannot be decoded any more
    page = visit()
    page.context.add_init_script("Object.defineProperty(Navigator.prototype, 'deviceMemory', { get: () => 1 })")
    page.load()
    page.page.set_input_files("#files", str(path))
    page.message("48 megapixels are too many for this device in a browser (at most 32).")
    page.open(write(tmp_path / "good.png", scene(30, 20, 3)))
