"""The page itself: doors, keys, sizes, offline, without isolation, accessible."""

import base64

import numpy as np
import pytest
from PIL import Image

from helpers.scenes import scene, write
from pic_uie.enhancer import Enhancer, instruction_sets

DROP = """([name, data, type]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


def test_a_dropped_picture_opens(visit, tmp_path):
    page = visit()
    data = write(tmp_path / "reef.png", scene(200, 150, 3)).read_bytes()
    page.page.evaluate(DROP, ["reef.png", base64.b64encode(data).decode(), "image/png"])
    page.message("reef.png is open.")


PASTE = """([name, data, type]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true }));
}"""


def test_a_pasted_picture_opens(visit, tmp_path):
    page = visit()
    data = write(tmp_path / "reef.png", scene(200, 150, 3)).read_bytes()
    page.page.evaluate(PASTE, ["image.png", base64.b64encode(data).decode(), "image/png"])
    page.message("image.png is open.")


def test_the_example_opens(visit):
    page = visit()
    page.page.click("#example")
    page.message("example.jpg is open.")


@pytest.mark.parametrize("suffix", ["webp", "gif", "avif", "bmp"])
def test_other_formats_open_and_become_jpegs(visit, tmp_path, suffix):
    page = visit()
    page.open(write(tmp_path / f"reef.{suffix}", scene(200, 150, 3)))
    assert ("not carried over" in page.page.inner_text("#notes")) == (suffix in ("gif", "bmp"))
    result, name = page.download("#save-one", tmp_path / "result.jpg")
    assert name == "reef_enhanced.jpg"
    assert Image.open(result).size == (200, 150)


def test_an_animation_is_reported(visit, tmp_path):
    frames = [Image.fromarray(scene(60, 40, 3, i)) for i in range(3)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    page = visit()
    page.open(tmp_path / "moving.gif")
    assert "first picture of the animation" in page.page.inner_text("#notes")


def test_a_folder_opens_without_what_is_no_picture(visit, tmp_path):
    folder = tmp_path / "dive"
    folder.mkdir()
    for i in range(3):
        write(folder / f"{i}.png", scene(60, 40, 3, i))
    (folder / "notes.txt").write_text("no picture")
    page = visit()
    page.page.set_input_files("#folder", str(folder))
    page.message("is open.")
    assert page.page.locator("#strip li").count() == 3


def test_the_line_and_the_zoom_follow_keys_and_pointer(visit, tmp_path):
    page = visit(viewport={"width": 1000, "height": 700})
    page.open(write(tmp_path / "reef.png", scene(2400, 1600, 3)))
    handle = page.page.locator("two-up .handle")
    handle.focus()
    page.page.keyboard.press("End")
    assert handle.get_attribute("aria-valuenow") == "100"
    page.page.keyboard.press("ArrowLeft")
    assert handle.get_attribute("aria-valuenow") == "98"
    box = page.page.locator("two-up").bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.98, box["y"] + 40)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40, steps=4)
    page.page.mouse.up()
    assert abs(int(handle.get_attribute("aria-valuenow")) - 25) <= 2
    page.page.click("#zoom-actual")
    assert page.page.inner_text("#zoom-value") == "100 %"
    page.page.wait_for_selector("#viewer[data-part]")  # the sharp part
    page.page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.page.mouse.wheel(0, -300)
    page.page.wait_for_selector("#zoom-value:not(:text-is('100 %'))")
    page.page.locator("two-up").focus()
    page.page.keyboard.press("0")
    assert int(page.page.inner_text("#zoom-value").split()[0]) < 100


def test_sliders_change_what_is_seen(visit, tmp_path):
    page = visit()
    page.open(write(tmp_path / "reef.png", scene(400, 300, 3)))
    full = page.page.locator("two-up").screenshot()
    page.set(strength=0)
    page.page.wait_for_timeout(800)
    none = page.page.locator("two-up").screenshot()
    assert full != none
    page.page.click("#reset")
    assert page.page.input_value("#strength") == "100"


SEEN = """() => {
    const viewer = document.getElementById("viewer"), show = viewer.setAfter.bind(viewer);
    window.seen = new Promise((resolve) => { viewer.setAfter = (bitmap) => (show(bitmap), resolve(true)); });
}"""


def test_sliders_still_act_after_saving(visit, tmp_path):
    page = visit()
    page.open(write(tmp_path / "reef.png", scene(400, 300, 3)))
    page.download("#save-one", tmp_path / "result.png")
    page.page.evaluate(SEEN)
    page.set(haze=30)
    assert page.page.evaluate("Promise.race([window.seen, new Promise((r) => setTimeout(r, 20_000, false))])")


PART = """() => {
    const viewer = document.getElementById("viewer"), show = viewer.setPart.bind(viewer);
    const base64 = (bitmap) => {
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
        context.drawImage(bitmap, 0, 0);
        const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
        return btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(""));
    };
    window.part = new Promise((resolve) => {
        viewer.setPart = (part) => {
            const { x, y, width, height, before, after } = part;
            resolve({ x, y, width, height, before: base64(before), after: base64(after) });
            show(part);
        };
    });
}"""


@pytest.mark.skipif("baseline" not in instruction_sets(), reason="the baseline that WebAssembly repeats is x86-64's")
@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_seen_at_full_size_is_what_is_saved(visit, tmp_path, channels):
    page = visit(viewport={"width": 900, "height": 700})
    pixels = scene(3001, 2003, channels)
    page.open(write(tmp_path / "reef.png", pixels, compress_level=1))
    page.set(strength=70)
    page.page.evaluate(PART)
    page.page.click("#zoom-actual")
    part = page.page.evaluate("window.part")
    wanted = Enhancer(instruction_set="baseline").enhance(pixels, strength=0.7)
    assert part["x"] > 0
    assert part["y"] > 0
    for name, whole in (("before", pixels), ("after", wanted)):
        seen = np.frombuffer(base64.b64decode(part[name]), np.uint8).reshape(part["height"], part["width"], 4)
        there = whole[part["y"] :, part["x"] :][: part["height"], : part["width"]]
        assert np.array_equal(
            seen[..., :3], np.broadcast_to(there.reshape(*there.shape[:2], -1), (*seen.shape[:2], 3))
        ), name


def test_it_works_without_a_network(visit, tmp_path):
    page = visit()
    page.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.context.set_offline(True)
    page.load()
    page.open(write(tmp_path / "reef.png", scene(200, 150, 3)))
    page.download("#save-one", tmp_path / "result.png")
    assert Image.open(tmp_path / "result.png").size == (200, 150)


def test_a_host_without_headers_is_enough(visit, plain_host, tmp_path):
    page = visit(plain_host)
    assert page.page.get_attribute("body", "data-ready") == "1"
    page.open(write(tmp_path / "reef.png", scene(200, 150, 3)))
    page.download("#save-one", tmp_path / "one.png")
    page.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.load()  # now by the service worker, which adds the headers
    assert page.page.evaluate("crossOriginIsolated")
    page.open(tmp_path / "reef.png")
    page.download("#save-one", tmp_path / "many.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "many.png").read_bytes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it(visit, axe, tmp_path, scheme):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "color_scheme": scheme}
    page = visit(**phone)
    for paths in ([], [write(tmp_path / "a.png", scene(300, 200, 3)), write(tmp_path / "b.png", scene(200, 300, 3))]):
        if paths:
            page.open(*paths)
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.page.evaluate(axe)
        found = page.page.evaluate("axe.run().then(({ violations }) => violations)")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_no_word_is_missing(visit, built):
    page = visit()
    for attribute in ("text", "label", "title"):
        keys = page.page.evaluate(
            f"[...document.querySelectorAll('[data-{attribute}]')].map((e) => e.dataset.{attribute})"
        )
        words = (built / "strings.js").read_text()
        assert [key for key in keys if f"{key}:" not in words] == []
