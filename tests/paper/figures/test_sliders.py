"""The figure of the sliders: drawn by the command, and each group moves what its name says."""

from PIL import Image

from helpers.command import exit_code, make
from pic_uie.enhancer import default_enhancer
from pic_uie.paper.figures import sliders
from pic_uie.synthetic import render_pair


def test_the_command_draws_it(tmp_path):
    picture = make(tmp_path / "a.png")
    figure = tmp_path / "sliders.png"
    assert exit_code(["figure", "sliders", picture, picture, "-o", figure, "--dpi", "40"]) == 0
    assert Image.open(figure).width > 400


def test_groups_move_what_their_names_say():
    """On a scene, with the shipped weights: haze and contrast mostly luma, colour mostly chroma."""
    found = sliders.versions(render_pair(240, 360, seed=21).input, default_enhancer())
    moved = {name: sliders.moved(pixels, found["all at 1"]) for name, pixels in found.items()}
    for name in ("haze 0", "contrast 0"):
        luma, chroma = moved[name]
        assert luma > 3 * chroma
    luma, chroma = moved["colour 0"]
    assert chroma > 3 * luma
    assert moved["all at 1"] == (0.0, 0.0)
