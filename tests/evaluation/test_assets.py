import numpy as np
import pytest

from pic_uie.errors import EnvironmentMissingError
from pic_uie.evaluation import assets
from pic_uie.evaluation.metrics import lpips, niqe

ARRAYS = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "two": np.ones(4)}
PICTURE = np.zeros((128, 128, 3), np.uint8)


@pytest.fixture
def asset():
    return assets.Asset("parameters.npz", assets.content_sha256(ARRAYS), "the shop round the corner")


def test_the_hash_does_not_depend_on_how_the_archive_was_packed(tmp_path, asset):
    np.savez_compressed(tmp_path / "parameters.npz", **dict(reversed(ARRAYS.items())))
    loaded = assets.load(asset, tmp_path)
    np.testing.assert_array_equal(loaded["one"], ARRAYS["one"])


def test_the_environment_variable_names_the_folder(tmp_path, asset, monkeypatch):
    np.savez(tmp_path / "parameters.npz", **ARRAYS)
    monkeypatch.setenv("PIC_UIE_ASSETS", str(tmp_path))
    assert set(assets.load(asset)) == {"one", "two"}


@pytest.mark.parametrize(
    "changed",
    [
        {"one": ARRAYS["one"] + 1, "two": ARRAYS["two"]},
        {"one": ARRAYS["one"]},
        {"one": ARRAYS["one"].reshape(3, 2), "two": ARRAYS["two"]},
        {"one": ARRAYS["one"].astype(np.float64), "two": ARRAYS["two"]},
    ],
)
def test_other_values_names_shapes_or_types_are_refused(tmp_path, asset, changed):
    np.savez(tmp_path / "parameters.npz", **changed)
    with pytest.raises(EnvironmentMissingError, match=r"not the published one.*round the corner"):
        assets.load(asset, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"not an archive"])
def test_a_damaged_archive_is_refused(tmp_path, asset, content):
    (tmp_path / "parameters.npz").write_bytes(content)
    with pytest.raises(EnvironmentMissingError, match="not an archive"):
        assets.load(asset, tmp_path)


def test_a_pickle_is_never_read(tmp_path, asset):
    np.savez(tmp_path / "parameters.npz", one=np.array([{"a": 1}], dtype=object))
    with pytest.raises(EnvironmentMissingError, match="not an archive"):
        assets.load(asset, tmp_path)


def test_metrics_say_where_their_parameters_come_from(tmp_path, monkeypatch):
    monkeypatch.delenv("PIC_UIE_ASSETS", raising=False)
    with pytest.raises(EnvironmentMissingError, match=r"--assets DIR or PIC_UIE_ASSETS.*lpips"):
        lpips(PICTURE, PICTURE)
    with pytest.raises(EnvironmentMissingError, match="BasicSR"):
        niqe(PICTURE, tmp_path)
