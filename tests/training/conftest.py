import pytest
from PIL import Image

from pic_uie.synthetic import inverse_depth, render_pair


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """Ten synthetic pairs with depth, 176 pixels wide, in folders as `pic-uie train` reads them."""
    folder = tmp_path_factory.mktemp("water")
    for kind in ("input", "target", "depth"):
        (folder / kind).mkdir()
    for seed in range(10):
        pair = render_pair(176, 176, seed)
        pictures = {"input": pair.input, "target": pair.reference, "depth": inverse_depth(pair.distance)}
        for kind, pixels in pictures.items():
            Image.fromarray(pixels).save(folder / kind / f"{seed:02d}.png")
    return folder
