"""Synthetic pairs in folders, as `pic-uie train` and `pic-uie evaluate` read them."""

from PIL import Image

from pic_uie.synthetic import inverse_depth, render_pair


def write_pairs(folder, count, height, width, depth=False):
    """Writes pairs 00, 01, ... below input/ and target/, and their depth; returns the folder."""
    for seed in range(count):
        pair = render_pair(height, width, seed)
        pictures = {"input": pair.input, "target": pair.reference}
        if depth:
            pictures["depth"] = inverse_depth(pair.distance)
        for kind, pixels in pictures.items():
            (folder / kind).mkdir(exist_ok=True)
            Image.fromarray(pixels).save(folder / kind / f"{seed:02d}.png")
    return folder
