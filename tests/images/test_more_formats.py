"""GIF, JPEG 2000, JPEG XL, Lab, planes in tiles, grids, truncated JPEGs: read, or refused for what they are."""

import struct

import numpy as np
import pytest
from PIL import Image, ImageCms

from helpers.pictures import XMP, camera_exif, opened, reef, saved
from pic_uie import images
from pic_uie.errors import ImageError
from pic_uie.images import exif, formats, heif_write, ifd, vips


def test_a_single_gif_becomes_a_png():
    paletted = Image.fromarray(reef()).quantize(32)
    picture = images.read(saved(paletted, "GIF"))
    assert np.array_equal(picture.pixels[:, :, :3], np.asarray(paletted.convert("RGB")))
    assert opened(images.encode(picture)).format == "PNG"


def test_transparency_of_a_gif_stays():
    paletted = Image.fromarray(reef()).quantize(32)
    data = saved(paletted, "GIF", transparency=3)
    clear = np.asarray(paletted) == 3
    picture = images.read(data)
    assert np.array_equal(picture.pixels[:, :, 3] == 0, clear)


def test_an_animated_gif_is_refused():
    frames = [Image.fromarray(reef(seed=seed)).quantize(16) for seed in range(3)]
    with pytest.raises(ImageError, match=r"a GIF with several frames \(an animation\)"):
        images.read(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("boxed", [True, False])
def test_jpeg_2000_is_read(channels, boxed):
    pixels = reef(channels=channels)
    picture = images.read(saved(pixels, "JPEG2000", no_jp2=not boxed))
    assert picture.format == "jp2"
    assert np.array_equal(picture.pixels, pixels)  # Pillow's is lossless
    assert opened(images.encode(picture)).format == "PNG"


def test_deep_jpeg_2000_is_read_deep_or_that_is_reported():
    image = Image.fromarray(reef(dtype=np.uint16, channels=1)[:, :, 0])
    picture = images.read(saved(image, "JPEG2000"))
    assert picture.bits == 16
    assert np.array_equal(picture.pixels[:, :, 0], np.asarray(image))


def test_a_jpeg_2000_whose_sizes_contradict_each_other_cannot_pass_the_limit():
    data = bytearray(saved(reef(), "JPEG2000"))
    at = data.index(b"ihdr") + 4
    data[at : at + 8] = struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF)
    with pytest.raises(ImageError, match="contradictory sizes"):
        images.read(bytes(data))


def test_metadata_of_jpeg_2000_comes_along():
    data = saved(reef(), "JPEG2000")
    exif_box = heif_write.box(b"uuid", b"JpgTiffExif->JP2" + camera_exif(orientation=6))
    xmp_box = heif_write.box(b"uuid", bytes.fromhex("be7acfcb97a942e89c71999491e3afac") + XMP)
    picture = images.read(data + exif_box + xmp_box + heif_write.box(b"xml ", b"<a/>"))
    result = images.encode(picture)
    assert opened(result).getexif().get_ifd(0x8825)[2] == (12, 34, 56.78)
    assert b'xmp:Rating="5"' in result
    assert picture.notes == ("left out: its other boxes",)


def test_comments_of_jpeg_2000_come_along():
    data = saved(reef(), "JPEG2000", comment="At the reef", no_jp2=True)
    binary = b"\xff\x64\0\x08\0\0\1\2\3\4"
    at = data.index(b"\xff\x64")
    picture = images.read(data[:at] + binary + data[at:])
    assert [(text.keyword, text.value) for text in picture.metadata.texts] == [("Comment", "At the reef")]
    assert picture.notes == ("left out: its comment that is no text",)
    assert opened(images.encode(picture)).text == {"Comment": "At the reef"}


def test_jpeg_xl_is_named_where_it_cannot_be_read(monkeypatch):
    has = vips.has_operation
    monkeypatch.setattr(vips, "has_operation", lambda name: name != "jxlload" and has(name))
    for head in (b"\xff\x0a" + bytes(60), b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(60)):
        with pytest.raises(ImageError, match="a JPEG XL picture, which this build of libvips cannot read: convert it"):
            images.read(head)


def test_lab_is_converted():
    pixels = reef()
    lab = ImageCms.profileToProfile(
        Image.fromarray(pixels), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )
    picture = images.read(saved(lab, "TIFF"))
    assert picture.notes == ("its Lab colours became sRGB",)
    assert np.abs(picture.pixels / 257 - pixels).mean() < 1.5  # 8 bits of Lab are coarse
    assert np.abs(picture.pixels / 257 - pixels).max() < 8
    assert images.read(images.encode(picture)).colour.space == "rgb"


def float_lab(image):
    return bytes(image.tiffsave_buffer())


def test_lab_in_floating_point_is_read_as_libvips_wrote_it():
    image = vips.from_array(reef(), "rgb").colourspace("lab")
    picture = images.read(float_lab(image))
    assert picture.notes == ("its Lab colours became sRGB",)
    assert np.abs(picture.pixels / 257 - reef()).max() < 0.51


@pytest.mark.parametrize("change", [lambda lab: lab / 100, lambda lab: lab * 3, lambda lab: lab - 50])
def test_numbers_that_are_no_lab_are_refused(change):
    image = change(vips.from_array(reef(), "rgb").colourspace("lab")).copy(interpretation="lab")
    with pytest.raises(ImageError, match="it is not clear what they mean; convert it to RGB first"):
        images.read(float_lab(image))


def test_transparency_beside_lab_stays():
    lab = np.dstack([reef(), np.full((48, 64), 77, np.uint8)])
    data = saved(lab, "TIFF")
    layout, offset = ifd.read_header(data)
    entries, _ = ifd.read_directory(data, offset, layout)
    (count,) = struct.unpack_from("<H", data, offset)
    rows = bytearray(data)
    for at in range(offset + 2, offset + 2 + 12 * count, 12):
        if struct.unpack_from("<H", data, at)[0] == 262:
            struct.pack_into("<H", rows, at + 8, 8)
    assert 262 in entries
    picture = images.read(bytes(rows))
    assert (picture.pixels[:, :, 3] == 77 * 257).all()


def tiles_in_planes(pixels, side=16, order="<"):
    """A TIFF of tiles, plane after plane, by hand: no library at hand writes one."""
    height, width, channels = pixels.shape
    down, across = -(-height // side), -(-width // side)
    padded = np.zeros((down * side, across * side, channels), pixels.dtype)
    padded[:height, :width] = pixels
    kind = np.dtype(pixels.dtype).newbyteorder(order)
    tiles = [
        np.ascontiguousarray(padded[y : y + side, x : x + side, c]).astype(kind).tobytes()
        for c in range(channels)
        for y in range(0, down * side, side)
        for x in range(0, across * side, side)
    ]
    places = [8 + i * len(tiles[0]) for i in range(len(tiles))]
    bits = 8 * pixels.itemsize

    def shorts(*values):
        return ifd.Entry(3, len(values), struct.pack(f"{order}{len(values)}H", *values))

    def longs(values):
        return ifd.Entry(4, len(values), struct.pack(f"{order}{len(values)}I", *values))

    tags = {256: shorts(width), 257: shorts(height), 258: shorts(*[bits] * channels), 259: shorts(1), 262: shorts(2)}
    tags |= {277: shorts(channels), 284: shorts(2), 322: shorts(side), 323: shorts(side)}
    tags |= {324: longs(places), 325: longs([len(tile) for tile in tiles])}
    if channels == 4:
        tags[338] = shorts(2)
    start = 8 + sum(map(len, tiles))
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, start)
    return head + b"".join(tiles) + ifd.write_directory(tags, start, order)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("order", ["<", ">"])
def test_planes_in_tiles_are_read(channels, dtype, order):
    pixels = reef(40, 56, channels=channels, dtype=dtype)
    assert np.array_equal(images.read(tiles_in_planes(pixels, order=order)).pixels, pixels)


def test_a_16_bit_table_of_odd_length_is_no_internal_error():
    """49 files of the corpora end so: a quantisation table that says 16 bits and is cut short."""
    data = b"\xff\xd8\xff\xdb\x00\x30\x10" + bytes(45) + b"\xff\xc0\x00\x0b\x08\0\x08\0\x08\1\1\x11\0\xff\xd9"
    with pytest.raises(ImageError, match="damaged JPEG"):
        images.read(data)


@pytest.mark.parametrize("precision", [12, 16])
def test_unsupported_is_never_called_damaged(precision):
    data = bytearray(saved(reef(), "JPEG"))
    data[data.index(b"\xff\xc0") + 4] = precision
    with pytest.raises(ImageError, match=f"a JPEG of {precision} bits, which cannot be read here") as caught:
        images.read(bytes(data))
    assert "damaged" not in str(caught.value)
    tree = saved(reef(), "TIFF")
    for compression in (34925, 34661):
        with pytest.raises(ImageError) as caught:
            images.read(tree.replace(struct.pack("<HHIH", 259, 3, 1, 1), struct.pack("<HHIH", 259, 3, 1, compression)))
        assert "damaged" not in str(caught.value)
    with pytest.raises(ImageError, match="cannot be read here"):
        images.read(tree.replace(struct.pack("<HHIH", 262, 3, 1, 2), struct.pack("<HHIH", 262, 3, 1, 32845)))


def test_a_grid_of_tiles_in_avif_is_read():
    """Two tiles side by side as one picture, put together from Pillow's file and the definition of a grid."""
    from helpers.grids import avif_grid

    pixels = reef(64, 128)
    picture = images.read(avif_grid(pixels))
    assert picture.pixels.shape == (64, 128, 3)
    assert np.abs(picture.pixels.astype(int) - pixels).mean() < 3


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("unit", [0, 9])
def test_an_impossible_unit_of_resolution_does_not_spoil_the_result(name, unit):
    tree = exif.parse(camera_exif(orientation=1))
    tree.main[exif.RESOLUTION_UNIT] = ifd.short(unit, tree.order)
    data = images.encode(images.Picture(reef(), metadata=images.Metadata(exif=tree)), file_format=name, software="x")
    assert images.read(data).pixels.shape == (48, 64, 3)
    assert opened(data).size == (64, 48)


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_result_whose_header_is_broken_is_never_given_away(name, monkeypatch):
    kind = formats.FORMATS[name]
    broken = {name: kind.__class__(**{**vars(kind), "save": lambda stored: kind.save(stored)[:40]})}
    monkeypatch.setitem(formats.FORMATS, name, broken[name])
    with pytest.raises(ImageError, match="cannot be read back"):
        images.encode(images.Picture(reef()), file_format=name)


@pytest.mark.parametrize("source", ["jpeg", "avif", "cmyk"])
def test_results_are_at_most_half_larger_than_lossy_sources(source):
    grain = 3 * np.random.default_rng(0).normal(size=(400, 600, 3))
    noisy = Image.fromarray(np.clip(reef(400, 600) + grain, 0, 255).astype(np.uint8))
    if source == "cmyk":
        data = saved(noisy.convert("CMYK"), "JPEG", quality=80)
    else:
        data = saved(noisy, source.upper(), quality=60)
    picture = images.read(data)
    middle = picture.pixels.astype(float).mean()
    stretched = np.clip((picture.pixels - middle) * 1.5 + middle, 0, np.iinfo(picture.pixels.dtype).max)
    if source != "jpeg":  # more contrast takes more bytes; AVIF and CMYK have a limit to that
        picture = picture.with_pixels(np.rint(stretched).astype(picture.pixels.dtype))
    assert len(images.encode(picture, software="pic-uie")) <= 1.5 * len(data) + 500
