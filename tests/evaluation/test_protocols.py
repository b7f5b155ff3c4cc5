import pytest

from pic_uie.errors import ConfigError
from pic_uie.evaluation import protocols
from pic_uie.paper import tables as paper


@pytest.mark.parametrize("name", ["uieb-90", "lsui", "u45", "c60"])
def test_protocols_of_the_package_stand_in_the_paper(name):
    protocol = protocols.load(name)
    assert protocol.name == name
    assert "paper-256" in protocol.resize
    published = paper.table(protocol.paper.table).row(paper.ours()).group(protocol.paper.column)
    assert set(published) <= set(protocol.metrics)


def test_the_package_knows_exactly_these():
    assert protocols.known() == ("c60", "lsui", "u45", "uieb-90", "uiqad-1080p", "uiqad-4k")


def test_ones_own_protocol_finds_its_list_beside_itself(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nmetrics: [psnr]\nreferences: gt\nlist: names.txt\n")
    assert protocols.load(str(path)).list == str(tmp_path / "names.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics: [psnr]\nreferences: gt\n", "needs a name"),
        ("name: x\nmetrics: [psnr]\n", "no folder of references, which psnr need"),
        ("name: x\nmetrics: [sharpness]\n", "unknown metric"),
        ("name: x\nmetrics: [uiqm]\nresize: [bicubic]\n", "resize"),
        ("name: x\nmetrics: [uiqm]\nresize: []\n", "at least one way"),
        ("name: x\nmetrics: []\n", "no metric"),
        ("name: x\nmetric: [uiqm]\n", "did you mean 'metrics'"),
        ("- 1\n", "mapping"),
    ],
)
def test_bad_protocols(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        protocols.load(str(path))


def test_unknown_protocols():
    with pytest.raises(ConfigError, match="did you mean 'uieb-90'"):
        protocols.load("uieb90")
    with pytest.raises(ConfigError, match="cannot read"):
        protocols.load("nowhere.yaml")
