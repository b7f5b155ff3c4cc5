"""Every result that a test of this folder makes is decoded again."""

import pytest

from pic_uie import images


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
