"""The systems that the paper compares with, written anew from their papers: a dictionary by name.

WF-Diff is in the paper's tables and not here: no architecture of it is published in full.
"""

from __future__ import annotations

from pathlib import Path

from pic_uie.errors import ConfigError, WeightsError, did_you_mean
from pic_uie.paper.baselines.base import Baseline, read_weights
from pic_uie.paper.baselines.dm_underwater import DmUnderwater
from pic_uie.paper.baselines.dtiuie import Dtiuie
from pic_uie.paper.baselines.funie_gan import FunieGan
from pic_uie.paper.baselines.hclr_net import HclrNet
from pic_uie.paper.baselines.lite_enhance_net import LiteEnhanceNet
from pic_uie.paper.baselines.lu2net import Lu2Net
from pic_uie.paper.baselines.nu2net import Nu2Net
from pic_uie.paper.baselines.puie_net import PuieNet
from pic_uie.paper.baselines.shallow_uwnet import ShallowUwnet
from pic_uie.paper.baselines.smdr_is import SmdrIs
from pic_uie.paper.baselines.ss_uie import SsUie
from pic_uie.paper.baselines.watermamba import WaterMamba

BASELINES: dict[str, type[Baseline]] = {  # in the order of the paper's tables
    system.name: system
    for system in (
        FunieGan,
        ShallowUwnet,
        PuieNet,
        Nu2Net,
        DmUnderwater,
        LiteEnhanceNet,
        SmdrIs,
        HclrNet,
        WaterMamba,
        Lu2Net,
        SsUie,
        Dtiuie,
    )
}
UNPUBLISHED = {"wf-diff": "WF-Diff has no architecture that is published in full: the tables keep its printed figures"}


def find(name: str) -> type[Baseline]:
    """Returns the system of that name.

    Raises:
        ConfigError: There is none; names the nearest.
    """
    if name in UNPUBLISHED:
        raise ConfigError(UNPUBLISHED[name])
    if name not in BASELINES:
        raise ConfigError(f"unknown method {name!r}: {did_you_mean(name, BASELINES)}")
    return BASELINES[name]


def load(path: str | Path, name: str | None = None) -> tuple[Baseline, str]:
    """Builds the system that a weights file holds.

    Args:
        path: The file.
        name: The system that is expected, if any is.

    Returns:
        The system, ready to run, and the hash of its weights.

    Raises:
        WeightsError: Unreadable, damaged, or of another system.
    """
    method, tensors, sha256 = read_weights(path)
    if name is not None and method != name:
        raise WeightsError(f"{path} holds weights of {method}, not of {name}: give --method {method}")
    if method not in BASELINES:
        raise WeightsError(f"{path} holds weights of {method!r}, which this version does not know")
    model = BASELINES[method]()
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise WeightsError(f"{path} does not fit {method}: {str(error).splitlines()[-1].strip()}") from error
    return model.eval(), sha256
