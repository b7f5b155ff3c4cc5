"""A model as a folder in the hub's layout: what is written is read back, and nothing else passes."""

import json

import pytest

pytest.importorskip("torch")
import torch

from pic_uie import Enhancer, weights
from pic_uie.config import ModelConfig
from pic_uie.errors import ConfigError, WeightsError
from pic_uie.evaluation import predictions
from pic_uie.model import PicUie
from pic_uie.weights import DEFAULT_PATH


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(3)
    PicUie(ModelConfig(width=8)).save_pretrained(tmp_path / "hub", license_name="apache-2.0")
    return tmp_path / "hub"


def test_what_is_written_is_read_back(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    torch.manual_seed(3)
    original, model = PicUie(ModelConfig(width=8)), PicUie.from_pretrained(folder)
    assert model.config == original.config
    assert not model.training
    for (name, ours), theirs in zip(model.state_dict().items(), original.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    config = json.loads((folder / "config.json").read_text())
    assert (config["model_type"], config["width"]) == ("pic-uie", 8)
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: pic-uie\nlicense: apache-2.0\n")
    assert f"{sum(p.numel() for p in model.parameters()):,} parameters" in card
    assert Enhancer(folder / "model.safetensors").weights.sha256 == config["weights_sha256"]


def test_a_card_that_people_wrote_is_kept(folder):
    (folder / "README.md").write_text("mine")
    PicUie.from_pretrained(folder).save_pretrained(folder)
    assert (folder / "README.md").read_text() == "mine"


def test_a_card_keeps_its_text_and_names_the_weights_beside_it(folder):
    card = folder / "README.md"
    card.write_text(card.read_text() + "Trained on my reef.\n")
    PicUie(ModelConfig(width=12)).save_pretrained(folder)
    checked = weights.load(folder / "model.safetensors")
    assert f"`{checked.sha256}`" in card.read_text()
    assert card.read_text().count("the hash of the weights is") == 1
    assert card.read_text().endswith("Trained on my reef.\n")


def test_a_weights_file_will_do(folder):
    assert PicUie.from_pretrained(DEFAULT_PATH).config == ModelConfig()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 16}, "do not belong together"),
        ({"weights_sha256": "0" * 64}, "do not belong together"),
        ({"width": "wide"}, "cannot be read"),
        ({"model_type": "bert"}, "not the configuration of a pic-uie model"),
    ],
)
def test_a_folder_that_does_not_agree_with_itself(folder, change, message):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(WeightsError, match=message):
        PicUie.from_pretrained(folder)


def test_nothing_is_downloaded(tmp_path, folder):
    with pytest.raises(WeightsError, match="nothing is downloaded"):
        PicUie.from_pretrained("someone/pic-uie")
    (folder / "config.json").unlink()
    with pytest.raises(WeightsError, match="cannot be read"):
        PicUie.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(WeightsError):
        PicUie.from_pretrained(folder)


def test_names_of_the_package_and_folders_are_weights_everywhere(folder, tmp_path):
    assert PicUie.from_pretrained("bright").config == PicUie.from_pretrained(weights.NAMED["bright"]).config
    method = predictions.from_path(folder)
    assert (method.name, method.folder) == ("hub", None)
    assert predictions.from_path(tmp_path).folder == tmp_path  # pictures
    with pytest.raises(ConfigError, match=r"is a folder without model\.safetensors"):
        predictions.from_weights(tmp_path)


def test_weights_that_are_all_called_alike_go_by_their_folder(tmp_path):
    assert predictions.default_name(tmp_path / "no-ccm/last.safetensors") == "no-ccm"
    assert predictions.default_name(tmp_path / "no-ccm/mine.safetensors") == "mine"
