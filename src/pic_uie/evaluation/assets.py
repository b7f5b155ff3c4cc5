"""Published parameters that LPIPS and NIQE need: read from a folder, never fetched, and checked by content."""

from __future__ import annotations

import functools
import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pic_uie.errors import EnvironmentMissingError

VARIABLE = "PIC_UIE_ASSETS"
Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Asset:
    """One file of parameters: its name, the hash of what it holds, and where people find it."""

    file: str
    sha256: str
    origin: str


LPIPS_ALEX = Asset(
    file="lpips_alex.npz",
    sha256="e45a36d5622885bcc5ae4ee7079f82fe7b18b25e38a29dc6b9327359608090cd",
    origin=(
        "the convolutions of torchvision's AlexNet (alexnet-owt-7be5be79.pth) as features.{0,3,6,8,10}.{weight,bias} "
        "and the v0.1 heads of the lpips package (lpips/weights/v0.1/alex.pth) as lin0..lin4, float32, by numpy.savez"
    ),
)
NIQE_PRISTINE = Asset(
    file="niqe_pris_params.npz",
    sha256="fc7768c1a701197968820d5d7c701c17efc7a3f5df856bb0c9740b37e7623d44",
    origin="basicsr/metrics/niqe_pris_params.npz in the BasicSR repository",
)


def load(asset: Asset, folder: str | Path | None = None) -> Arrays:
    """Reads an asset from `folder`, or from the folder that PIC_UIE_ASSETS names.

    Raises:
        EnvironmentMissingError: No folder is known, the file is not there, or it is not the published one.
    """
    return _load(asset, _locate(asset, folder))


def content_sha256(arrays: Arrays) -> str:
    """Returns a hash of names, shapes, types and values: the same however the archive was packed."""
    sha256 = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        sha256.update(f"{name} {little_endian.dtype.str} {array.shape}\n".encode())
        sha256.update(little_endian.tobytes())
    return sha256.hexdigest()


def _locate(asset: Asset, folder: str | Path | None) -> Path:
    chosen = folder or os.environ.get(VARIABLE)
    if not chosen:
        raise EnvironmentMissingError(
            f"{asset.file} is needed: name its folder with --assets DIR or {VARIABLE}. It holds {asset.origin}"
        )
    path = Path(chosen) / asset.file
    if not path.is_file():
        raise EnvironmentMissingError(f"{path} does not exist. It holds {asset.origin}")
    return path.resolve()


@functools.lru_cache(maxsize=8)
def _load(asset: Asset, path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise EnvironmentMissingError(
            f"{path} is not an archive of arrays ({error}). It should hold {asset.origin}"
        ) from error
    seen = content_sha256(arrays)
    if seen != asset.sha256:
        raise EnvironmentMissingError(
            f"{path} is not the published one: its arrays hash to {seen}, expected {asset.sha256}. "
            f"It should hold {asset.origin}"
        )
    return arrays
