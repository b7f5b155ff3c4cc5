import hashlib

import pytest

from pic_uie.datasets.folders import NoPicturesError, index
from pic_uie.datasets.names import name_set, read_list
from pic_uie.errors import ConfigError, DataError
from pic_uie.evaluation.cases import Folders, gather
from pic_uie.evaluation.protocols import Protocol

WHOLE = Protocol(name="whole", metrics=("psnr",), references="target", names="folder")
LISTED = Protocol(name="listed", metrics=("psnr",), references="target")


def folder(tmp_path, name, *files):
    path = tmp_path / name
    path.mkdir()
    for file in files:
        (path / file).touch()
    return path


def test_pairs_by_stem_whatever_the_suffix(tmp_path):
    inputs = folder(tmp_path, "input", "b.png", "a.jpg", "notes.txt")
    references = folder(tmp_path, "target", "a.PNG", "b.webp")
    names, cases = gather(WHOLE, Folders(inputs, references))
    assert names.stems == ("a", "b")
    assert [(case.name, case.input.name, case.reference.name) for case in cases] == [
        ("a", "a.jpg", "a.PNG"),
        ("b", "b.png", "b.webp"),
    ]
    assert cases[0].prediction is None


def test_missing_pictures_are_named(tmp_path):
    inputs, references = folder(tmp_path, "input", "a.png", "b.png", "c.png"), folder(tmp_path, "target", "b.png")
    with pytest.raises(DataError, match="target lacks a, c"):
        gather(WHOLE, Folders(inputs, references))


def test_extra_pictures_are_named(tmp_path):
    inputs, references = folder(tmp_path, "input", "a.png"), folder(tmp_path, "target", "a.png", "z.png")
    with pytest.raises(DataError, match="target has pictures without a partner: z"):
        gather(WHOLE, Folders(inputs, references))


def test_long_lists_of_missing_pictures_are_cut(tmp_path):
    inputs = folder(tmp_path, "input", *(f"{number:02}.png" for number in range(30)))
    references = folder(tmp_path, "target", "x.png")
    with pytest.raises(DataError, match="08, 09, and 20 more"):
        gather(WHOLE, Folders(inputs, references))


def test_two_pictures_of_one_stem_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"'a': a\.jpg and a\.png"):
        index(folder(tmp_path, "input", "a.png", "a.jpg"))


def test_an_empty_or_absent_folder(tmp_path):
    with pytest.raises(NoPicturesError, match="has no pictures"):
        index(folder(tmp_path, "input", "readme.txt"))
    with pytest.raises(DataError, match="No such file"):
        index(tmp_path / "nowhere")


def test_a_list_picks_from_a_larger_data_set_but_not_from_predictions(tmp_path):
    references = folder(tmp_path, "target", "a.png", "b.png", "c.png")
    predictions = folder(tmp_path, "made", "a.png", "b.png", "c.png")
    names = tmp_path / "names.txt"
    names.write_text("b.png\na\n")
    with pytest.raises(DataError, match=r"made has pictures .*--allow-extra.* c$"):
        gather(LISTED, Folders(None, references, predictions), names)
    _, cases = gather(LISTED, Folders(None, references, predictions), names, allow_extra=True)
    assert [case.name for case in cases] == ["a", "b"]


def test_a_protocol_of_a_list_refuses_to_do_without(tmp_path):
    with pytest.raises(ConfigError, match="needs --list"):
        gather(LISTED, Folders(folder(tmp_path, "input", "a.png")))


def test_the_hash_of_the_names_is_the_same_for_every_spelling(tmp_path):
    plain, fancy = tmp_path / "plain.txt", tmp_path / "fancy.txt"
    plain.write_bytes(b"a\nb\n1.5m_deep\n")
    fancy.write_bytes(b"\xef\xbb\xbf# the usual list\r\nsub/b.png\r\n\r\nC:\\x\\a.JPG\r\n1.5m_deep.png\r\n")
    assert read_list(plain).sha256 == read_list(fancy).sha256 == name_set(["1.5m_deep", "a", "b"]).sha256
    assert read_list(plain).sha256 == hashlib.sha256(b"1.5m_deep\na\nb\n").hexdigest()
    assert read_list(fancy).file_sha256 == hashlib.sha256(fancy.read_bytes()).hexdigest()
    assert read_list(plain).sha256 != name_set(["a", "b"]).sha256


@pytest.mark.parametrize(
    ("line", "stem"),
    [
        ("reef #1.png", "reef #1"),
        ("reef.png # better than b.png", "reef"),
        ("reef # dark", "reef"),
        ("reef#1", "reef#1"),
        ("# a.png\nreef", "reef"),
    ],
)
def test_a_name_may_have_the_sign_of_a_comment(tmp_path, line, stem):
    (tmp_path / "names.txt").write_text(f"{line}\n")
    assert read_list(tmp_path / "names.txt").stems == (stem,)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "names no picture"), (b"a\nb\na.png\n", "twice: a"), (b"\xff\xfe\x00", "not a text")]
)
def test_bad_lists(tmp_path, content, message):
    path = tmp_path / "names.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_list(path)


def test_the_wrong_number_of_pictures_is_not_the_protocol(tmp_path):
    u45 = Protocol(name="u45", metrics=("uiqm",), names="folder", counts=(45,))
    with pytest.raises(DataError, match="'u45' has 45 pictures, the folder has 2"):
        gather(u45, Folders(folder(tmp_path, "input", "a.png", "b.png")))


def test_a_protocol_can_pin_its_list(tmp_path):
    inputs, names = folder(tmp_path, "input", "a.png", "b.png"), tmp_path / "names.txt"
    names.write_text("a\n")
    for pinned in (hashlib.sha256(b"a\n").hexdigest(), read_list(names).file_sha256):
        protocol = Protocol(name="mine", metrics=("uiqm",), list=str(names), list_sha256=pinned)
        assert gather(protocol, Folders(inputs))[0].stems == ("a",)
    names.write_text("b\n")
    with pytest.raises(DataError, match="is not the list of protocol 'mine'"):
        gather(protocol, Folders(inputs))
