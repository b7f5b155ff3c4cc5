"""Picture files made with Pillow and NumPy alone, as oracles for the file layer, and a mild model."""

import io
import struct

import numpy as np
from PIL import Image, ImageCms
from PIL.TiffImagePlugin import IFDRational

from pic_uie import Strengths, weights
from pic_uie.batch import process
from pic_uie.config import ModelConfig
from pic_uie.weights.layout import parameter_shapes

SRGB_PRIMARIES = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
P3_PRIMARIES = ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060))
PROPHOTO_PRIMARIES = ((0.7347, 0.2653), (0.1596, 0.8404), (0.0366, 0.0001))
D50 = (0.3457, 0.3585)


def reef(height=48, width=64, channels=3, dtype=np.uint8, seed=0):
    """A smooth blue-green picture with texture: no two rows or columns alike."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    waves = [0.2 + 0.3 * x, 0.35 + 0.3 * y, 0.55 + 0.2 * np.sin(6 * x + 3 * y), 0.2 + 0.7 * x]
    picture = np.stack(waves, axis=-1)[..., [0, 1, 2, 3]]
    picture = np.clip(picture + rng.normal(0, 0.02, picture.shape), 0, 1)
    picture = {1: picture[..., 1:2], 2: picture[..., [1, 3]], 3: picture[..., :3], 4: picture}[channels]
    return np.rint(picture * np.iinfo(dtype).max).astype(dtype)


def saved(pixels, file_format, **options):
    """The bytes of a file that Pillow writes."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(np.squeeze(pixels))
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def opened(data):
    """What Pillow makes of the bytes of a file."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def camera_exif(orientation=6, thumbnail=True, maker_note=b"MAKER\0\x01\x02\x03" * 11):
    """An EXIF block as a camera writes it, by Pillow; a thumbnail is added by hand, which Pillow cannot."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Nauticam", "Deep 5"
    exif[0x0112] = orientation
    exif[0x0131] = "Firmware 1.0"
    exif[0x0132] = "2024:07:01 10:20:30"
    exif[0x8298] = "(c) A. Diver"
    exif[0x011A], exif[0x011B], exif[0x0128] = 240.0, 240.0, 2
    photo = exif.get_ifd(0x8769)
    photo[0x9003] = "2024:07:01 10:20:30"
    photo[0x829A] = IFDRational(1, 250)
    photo[0x920A] = IFDRational(35, 1)
    photo[0xA434] = "35mm F2"
    photo[0xA002], photo[0xA003] = 64, 48
    photo[0x927C] = maker_note
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2] = "N", (IFDRational(12, 1), IFDRational(34, 1), IFDRational(5678, 100))
    gps[3], gps[4] = "E", (IFDRational(98, 1), IFDRational(7, 1), IFDRational(654, 100))
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    return with_thumbnail(block) if thumbnail else block


def with_thumbnail(block):
    """Appends a second directory with a JPEG thumbnail to an EXIF block."""
    order = "<" if block[:2] == b"II" else ">"
    picture = saved(reef(12, 16), "JPEG")
    first = struct.unpack_from(order + "I", block, 4)[0]
    (count,) = struct.unpack_from(order + "H", block, first)
    start = len(block) + len(block) % 2
    entries = ((0x0103, 3, 6), (0x0201, 4, start + 2 + 3 * 12 + 4), (0x0202, 4, len(picture)))
    table = struct.pack(order + "H", 3)
    for tag, kind, value in entries:
        cell = struct.pack(order + "HH", value, 0) if kind == 3 else struct.pack(order + "I", value)
        table += struct.pack(order + "HHI", tag, kind, 1) + cell
    linked = bytearray(block.ljust(start, b"\0"))
    struct.pack_into(order + "I", linked, first + 2 + 12 * count, start)
    return bytes(linked) + table + bytes(4) + picture


XMP = (
    b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    b'xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    b'xmlns:xmp="http://ns.adobe.com/xap/1.0/" tiff:Orientation="6" xmp:Rating="5"/></rdf:RDF></x:xmpmeta>'
    b'<?xpacket end="w"?>'
)


def srgb_profile():
    """Little CMS's own sRGB profile."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def lab(srgb):
    """sRGB in [0, 1], (..., 3), to CIE L*a*b* under D65, from the definitions."""
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    matrix = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    ratios = linear @ matrix.T / (0.95047, 1.0, 1.08883)
    f = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def mild_weights(path):
    """Weights that change every picture a little, whatever it shows: more luminance, other chroma."""
    rng = np.random.default_rng(5)
    parameters = {}
    for name, shape in parameter_shapes(ModelConfig()).items():
        is_body = "body" in name or "expand" in name or "depthwise" in name
        value = rng.normal(0, 0.1, shape) if is_body and name.endswith("weight") else np.zeros(shape)
        if name.endswith("norm.weight") or name.endswith("beta"):
            value = np.ones(shape)
        parameters[name] = np.asarray(value, np.float32)
    parameters["predictor.heads.t.bias"] += 4
    parameters["predictor.heads.v.bias"] -= 4
    parameters["predictor.heads.a.bias"] -= 4
    matrix = [1.1, 0.0, 0.05, 0.0, 0.9, 0.05, 0.0, 0.0, 1.1]
    parameters["predictor.heads.affine.bias"][:] = [*matrix, 0.01, 0.0, 0.02]
    parameters["predictor.heads.covariance.bias"][:] = [0, 0, 0, 1, 0, 1, 0, 0, 1, -8]
    return weights.save(path, ModelConfig(), parameters)


def enhanced(picture, enhancer, strength):
    """What the command makes of a decoded file."""
    return process.enhanced(picture, enhancer, Strengths(strength=strength))[0]
