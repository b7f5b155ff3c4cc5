"""Every result that a test of this folder makes is decoded again."""

import pytest

from helpers.pictures import mild_weights
from pic_uie import Enhancer, images


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "mild.safetensors"
    mild_weights(path)
    return path


@pytest.fixture(scope="session")
def enhancer(weights):
    return Enhancer(weights, threads=1)


@pytest.fixture(autouse=True)
def decoded_again(monkeypatch):
    encode = images.encode

    def checked(picture, **options):
        data = encode(picture, **options)
        again = images.decode(data, sample_range=images.SampleRange(0, 65535))
        assert (again.width, again.height) == (picture.width, picture.height)
        assert again.format == (options.get("file_format") or images.result_of(images.READABLE[picture.format]).name)
        return data

    monkeypatch.setattr(images, "encode", checked)
