import pytest

from pic_uie.cli.main import main

HELD_OUT = 3


@pytest.fixture(scope="session")
def water(tmp_path_factory):
    """Eleven synthetic pairs with depth, as `pic-uie train` reads them; the last three are held out by a list."""
    folder = tmp_path_factory.mktemp("water")
    assert main(["synth", "--count", "11", "--size", "64x64", "--seed", "3", "-o", str(folder / "data"), "-q"]) == 0
    stems = sorted(path.stem for path in (folder / "data/input").iterdir())
    (folder / "held-out.txt").write_text("\n".join(stems[-HELD_OUT:]) + "\n")
    return folder


@pytest.fixture(scope="session")
def reproduce(water, root):
    """Runs `pic-uie reproduce` on the small set with a recipe that takes seconds."""
    small = ["size=64", "loss.ms_ssim=0", "optimization.batch=4", "optimization.ema=0.5", "validate_every=9"]

    def command(table, output, *extra, epochs="1", settings=small, more=()):
        options = ["--data", str(water / "data"), "-o", str(output), "--jobs", "1"]
        if table != "quality":
            options += ["--validation", str(water / "held-out.txt"), "--configs", str(root / "configs")]
            options += ["--epochs", epochs, "--threads", "1"]
        return main(["reproduce", table, *settings, *more, *options, *extra])

    return command
