"""Pictures on the page: the same bytes as the package, and files that keep what they said about themselves."""

import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageCms

from helpers.scenes import scene, write
from pic_uie.enhancer import Enhancer, instruction_sets
from pic_uie.look import Look, Source
from pic_uie.strengths import Strengths

GROUPS = ("haze", "contrast", "colour", "balance")
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
XMP = (
    b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    b'xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
    b'xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0" tiff:Orientation="6" '
    b'xmp:Rating="4"/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
)


def expected(pixels, strength=100, **groups):
    enhancer = Enhancer(instruction_set="baseline")
    theta = enhancer.predict(pixels)
    statistics = enhancer.measure(pixels, theta)
    scaled = theta.scaled(**{name: groups.get(name, 100) / 100 for name in GROUPS})
    return enhancer.execute(pixels, scaled, statistics=statistics, strength=strength / 100)


CASES = [
    ((1, 1, 3), {}),
    ((1, 1, 4), {}),
    ((131, 97, 4), {}),
    ((131, 97, 4), {"strength": 40, "balance": 25}),
    ((333, 70, 1), {"contrast": 50}),
    ((641, 481, 3), {}),
    ((641, 481, 3), {"strength": 37}),
    ((641, 481, 3), {"strength": 0}),
    *(((641, 481, 3), {group: 30}) for group in GROUPS),
    ((641, 481, 3), dict.fromkeys(GROUPS, 0)),
    ((4000, 3000, 3), {"haze": 60}),
    ((40000, 5, 3), {}),  # wider than a frame of video can be
    ((4096, 1025, 3), {"strength": 37}),  # strips of 512 rows, the last of 1
    ((3001, 1283, 4), {"contrast": 20, "strength": 80}),  # of 640, the last of 3
    ((2049, 1985, 1), {"balance": 50}),  # of 960, the last of 65
]


@pytest.mark.skipif("baseline" not in instruction_sets(), reason="the baseline that WebAssembly repeats is x86-64's")
def test_the_same_bytes_as_the_package(visit, tmp_path):
    page = visit()
    for index, ((width, height, channels), settings) in enumerate(CASES):
        pixels = scene(width, height, channels, index)
        page.open(write(tmp_path / f"{index}.png", pixels, compress_level=1))
        page.message(f"{index}.png is open.")
        page.set(**settings)
        result, name = page.download("#save-one", tmp_path / "result.png")
        assert name == f"{index}_enhanced.png"
        found = np.asarray(Image.open(result)).reshape(pixels.shape)
        wanted = pixels if settings == dict.fromkeys(GROUPS, 0) else expected(pixels, **settings)
        assert np.array_equal(found, wanted), ((width, height, channels), settings)


def oriented_jpeg(path, **options):
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "Camera"
    exif.get_ifd(0x8825).update({1: "N", 2: (12.0, 34.0, 56.0), 3: "E", 4: (1.0, 2.0, 3.0)})
    exif.get_ifd(0x8769).update({0xA002: 120, 0xA003: 80, 0x9003: "2024:05:06 07:08:09"})
    pixels = scene(120, 80, 3)
    pixels[:20, :20] = 255  # top left as stored: top right when upright
    return write(path, pixels, exif=exif, quality=95, icc_profile=SRGB, xmp=XMP, comment=b"a comment", **options)


@pytest.mark.parametrize("form", ["jpeg", "png"])
def test_metadata_stays_and_the_picture_is_upright(visit, tmp_path, form):
    page = visit()
    page.open(oriented_jpeg(tmp_path / "reef.jpg"))
    page.page.select_option("#format", form)
    result, name = page.download("#save-one", tmp_path / f"result.{form}")
    assert name == {"jpeg": "reef_enhanced.jpg", "png": "reef_enhanced.png"}[form]
    with Image.open(result) as image:
        assert image.format == form.upper()
        assert image.size == (80, 120)
        exif = image.getexif()
        assert exif[0x0112] == 1
        assert exif[0x010F] == "Camera"
        assert exif.get_ifd(0x8825)[2] == (12.0, 34.0, 56.0)
        details = exif.get_ifd(0x8769)
        assert (details[0xA002], details[0xA003], details[0x9003]) == (80, 120, "2024:05:06 07:08:09")
        assert image.info["icc_profile"] == SRGB
        xmp = image.info["xmp"] if form == "jpeg" else image.info["XML:com.adobe.xmp"].encode()
        assert b'tiff:Orientation="1"' in xmp
        assert b'xmp:Rating="4"' in xmp
        assert b"hdrgm:Version" not in xmp
        if form == "jpeg":
            assert image.info["comment"] == b"a comment"
        pixels = np.asarray(image.convert("RGB"))
        assert pixels[5:15, 65:75].mean() > 200  # upright


@pytest.mark.parametrize("suffix", ["webp", "avif"])
def test_metadata_of_newer_formats_becomes_that_of_a_jpeg(visit, tmp_path, suffix):
    exif = Image.Exif()
    exif[0x010F] = "Camera"
    exif.get_ifd(0x8825).update({1: "N", 2: (12.0, 34.0, 56.0)})
    page = visit()
    page.open(write(tmp_path / f"reef.{suffix}", scene(120, 80, 3), exif=exif, icc_profile=P3, xmp=XMP))
    assert page.page.inner_text("#notes") == ""
    result, _ = page.download("#save-one", tmp_path / "result.jpg")
    with Image.open(result) as image:
        assert image.size == (120, 80)
        assert image.getexif()[0x010F] == "Camera"
        assert image.getexif().get_ifd(0x8825)[2] == (12.0, 34.0, 56.0)
        assert image.info["icc_profile"] == P3
        assert b'xmp:Rating="4"' in image.info["xmp"]


def test_the_old_thumbnail_is_gone(visit, tmp_path):
    if shutil.which("exiftool") is None:
        pytest.skip("exiftool not installed: apt install libimage-exiftool-perl")
    source = oriented_jpeg(tmp_path / "reef.jpg")
    small = write(tmp_path / "small.jpg", scene(40, 30, 3))
    subprocess.run(["exiftool", "-q", "-overwrite_original", f"-ThumbnailImage<={small}", str(source)], check=True)
    page = visit()
    page.open(source)
    result, _ = page.download("#save-one", tmp_path / "result.jpg")
    said = subprocess.run(["exiftool", "-j", "-G1", result], capture_output=True, check=True)
    tags = json.loads(said.stdout)[0]
    assert not [name for name in tags if "Thumbnail" in name or name.startswith("IFD1:")]
    assert tags["IFD0:Make"] == "Camera"
    assert small.read_bytes()[:200] not in result.read_bytes()


def profile_of(red, green, blue):
    """The profile of sRGB with other primaries."""
    profile = bytearray(SRGB)
    for name, primary in ((b"rXYZ", red), (b"gXYZ", green), (b"bXYZ", blue)):
        start = profile.index(name)  # in the table of tags
        offset = int.from_bytes(profile[start + 4 : start + 8], "big") + 8
        values = [round(value * 65536).to_bytes(4, "big", signed=True) for value in primary]
        profile[offset : offset + 12] = b"".join(values)
    return bytes(profile)


P3 = profile_of((0.5151, 0.2412, -0.0011), (0.2920, 0.6922, 0.0419), (0.1571, 0.0666, 0.7841))
ADOBE = profile_of((0.6097, 0.3111, 0.0195), (0.2053, 0.6257, 0.0609), (0.1492, 0.0632, 0.7446))


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_display_p3_stays_display_p3(visit, tmp_path, suffix):
    pixels = scene(160, 120, 3)
    source = write(tmp_path / f"wide.{suffix}", pixels, icc_profile=P3, **({"quality": 97} if suffix == "jpg" else {}))
    page = visit()
    page.open(source)
    assert page.page.inner_text("#notes") == ""
    with Image.open(page.download("#save-one", tmp_path / f"result.{suffix}")[0]) as result:
        assert result.info["icc_profile"] == P3
        found = np.asarray(result.convert("RGB")).astype(int)
    there = ImageCms.ImageCmsProfile(io.BytesIO(P3)), ImageCms.createProfile("sRGB")
    as_srgb = ImageCms.profileToProfile(Image.open(source).convert("RGB"), *there, renderingIntent=1)
    enhanced = Image.fromarray(Enhancer().enhance(np.asarray(as_srgb)))
    wanted = np.asarray(ImageCms.profileToProfile(enhanced, *reversed(there), renderingIntent=1)).astype(int)
    assert np.abs(found - wanted).mean() < 2.5


def test_other_colours_are_reported(visit, tmp_path):
    page = visit()
    page.open(write(tmp_path / "wide.png", scene(40, 30, 3), icc_profile=ADOBE))
    assert "converted to sRGB" in page.page.inner_text("#notes")
    result, _ = page.download("#save-one", tmp_path / "result.png")
    assert "icc_profile" not in Image.open(result).info


def test_a_batch_becomes_one_archive(visit, tmp_path):
    sources = [write(tmp_path / f"{i}.{'jpg' if i % 2 else 'png'}", scene(160, 120, 3, i)) for i in range(18)]
    (tmp_path / "again").mkdir()
    sources.append(write(tmp_path / "again" / "0.png", scene(50, 40, 3)))
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(sources[1].read_bytes()[:300])
    page = visit()
    page.open(*sources, broken)
    page.set(strength=50)
    page.page.click("#copy-sliders")
    archive, name = page.download("#save-all", tmp_path / "all.zip")
    assert name == "enhanced.zip"
    page.message("19 files are in enhanced.zip; 1 failed.")
    with zipfile.ZipFile(archive) as found:
        assert found.testzip() is None
        names = [f"{i}_enhanced.{'jpg' if i % 2 else 'png'}" for i in range(18)]
        assert found.namelist() == [*names, "0_enhanced-2.png"]
        result = np.asarray(Image.open(io.BytesIO(found.read("4_enhanced.png"))))
    if "baseline" in instruction_sets():
        assert np.array_equal(result, expected(scene(160, 120, 3, 4), strength=50))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.jpg", b"\xff\xd8\xff\xe0 no picture", "damaged"),
        ("empty.png", b"", "empty"),
        ("scan.tif", b"II*\0" + bytes(100), "TIFF"),
        ("photo.heic", b"\0\0\0\x18ftypheic" + bytes(50), "HEIC"),
        ("dive.mp4", b"\0\0\0\x18ftypisom" + bytes(50), "damaged"),
        ("text.jpg", b"no picture at all", "Not a picture"),
        (
            "bomb.png",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2 + bytes(9),
            "megapixels are too many",
        ),
    ],
)
def test_bad_files_are_reported(visit, tmp_path, name, content, words):
    page = visit()
    (tmp_path / name).write_bytes(content)
    page.page.set_input_files("#files", str(tmp_path / name))
    page.message(words)
    page.open(write(tmp_path / "good.png", scene(30, 20, 3)))  # the page goes on


def test_looks_come_back(visit, tmp_path):
    page = visit()
    pixels, other = scene(160, 120, 3, 1), scene(150, 110, 3, 2)
    source = write(tmp_path / "reef.png", pixels)
    page.open(source)
    page.set(haze=40, strength=80)
    path, name = page.download("#save-look", tmp_path / "reef_enhanced.look.json")
    assert name == "reef_enhanced.look.json"
    look = Look.load(path)  # checks its checksum, too
    assert look.strengths == Strengths(haze=0.4, strength=0.8)
    assert look.source == Source("reef.png", hashlib.sha256(source.read_bytes()).hexdigest())
    assert look.weights == Enhancer().weights.sha256
    page.open(write(tmp_path / "other.png", other))
    page.message("other.png is open.")
    page.page.set_input_files("#look-file", str(path))
    page.message("The look of reef.png is applied.")
    assert page.page.input_value("#haze") == "40"
    result, _ = page.download("#save-one", tmp_path / "result.png")
    if "baseline" in instruction_sets():
        enhancer = Enhancer(instruction_set="baseline")
        assert look.theta == enhancer.look(pixels).theta
        assert look.statistics == enhancer.look(pixels).statistics
        assert np.array_equal(np.asarray(Image.open(result)), enhancer.apply(other, look))


@pytest.mark.skipif("baseline" not in instruction_sets(), reason="the baseline that WebAssembly repeats is x86-64's")
def test_looks_of_the_package_apply_to_all(visit, tmp_path):
    enhancer = Enhancer(instruction_set="baseline")
    look = enhancer.look(scene(160, 120, 3, 1)).scaled(contrast=0.5, colour=0.25)
    look.save(tmp_path / "mine.look.json")
    others = [scene(90 + i, 70, 3, 5 + i) for i in range(3)]
    page = visit()
    page.open(*(write(tmp_path / f"{i}.png", other) for i, other in enumerate(others)))
    page.page.set_input_files("#look-file", str(tmp_path / "mine.look.json"))
    page.message("is applied.")
    page.page.click("#copy-look")
    archive, _ = page.download("#save-all", tmp_path / "all.zip")
    with zipfile.ZipFile(archive) as found:
        for i, other in enumerate(others):
            result = np.asarray(Image.open(io.BytesIO(found.read(f"{i}_enhanced.png"))))
            assert np.array_equal(result, enhancer.apply(other, look)), i


def test_looks_that_cannot_be_used_are_refused(visit, tmp_path):
    page = visit()
    page.open(write(tmp_path / "reef.png", scene(60, 40, 3)))
    look = Enhancer().look(scene(60, 40, 3))
    path = tmp_path / "a.look.json"
    values = json.loads(look.to_json())
    other = json.loads(replace(look, weights="0" * 64).to_json())
    damaged = json.loads(look.to_json())
    damaged["corrections"]["bias"][0] += 0.25
    for content, words in (
        (json.dumps(damaged), "The look is damaged."),
        (json.dumps(other), "belongs to weights 00000000"),
        (json.dumps(values | {"format": "pic-uie-look-9"}), "pic-uie-look-9"),
        (json.dumps(values | {"strengths": {"haze": 2}}), "The look is damaged."),
        ('{"format": "something else"}', "This is not a look."),
        ("no JSON", "This is not a look."),
    ):
        path.write_text(content)
        page.page.set_input_files("#look-file", str(path))
        page.message(words)
