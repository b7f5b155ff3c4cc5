"""Stores: names, retries, and the ways that are not S3's: files that appear by renaming, folders listed one by one."""

import sys

import pytest

from helpers.command import enhance, make, tree
from helpers.pictures import mild_weights, reef, saved
from helpers.shelves import forget_stores
from pic_uie import weights
from pic_uie.batch import archive, opening, remote, stores
from pic_uie.batch.archive import Shard
from pic_uie.batch.urls import Url, is_url
from pic_uie.cli import exit_codes
from pic_uie.errors import ConfigError, EnvironmentMissingError, ImageError
from pic_uie.files import PART_SUFFIX

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def memory():
    """A store in this process, of the kind that renames."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    yield store
    store.store.clear()


@pytest.mark.parametrize(
    ("text", "root", "name"),
    [
        ("s3://survey", "s3://survey", ""),
        ("s3://survey/", "s3://survey", ""),
        ("S3://survey/raw/", "s3://survey", "raw"),
        ("s3://survey/a b/ü#1.jpg", "s3://survey", "a b/ü#1.jpg"),
        ("sftp://me:word@host:22/dir/a.jpg", "sftp://me:word@host:22", "dir/a.jpg"),
    ],
)
def test_names(text, root, name):
    url = Url.parse(text)
    assert (url.root, url.name) == (root, name)
    assert is_url(text)


def test_what_is_no_url():
    for text in ("a.jpg", "dir/a.jpg", "C:\\a.jpg", "c:/a.jpg", "-", "@list", "a:b", ""):
        assert not is_url(text)
    with pytest.raises(ConfigError, match="names no bucket or host"):
        Url.parse("s3:///a.jpg")


def test_passwords_and_signatures_are_not_shown():
    assert str(Url.parse("sftp://me:word@host/a.jpg")) == "sftp://host/a.jpg"
    signed = Url.parse("https://host/a.jpg?X-Amz-Signature=abc")
    assert str(signed) == "https://host/a.jpg"
    assert signed.file_name == "a.jpg"
    assert "Signature" in signed.name


def test_places_inside_of_each_other():
    assert Url.parse("s3://a/b").holds(Url.parse("s3://a/b/c.jpg"))
    assert Url.parse("s3://a").holds(Url.parse("s3://a/b"))
    assert not Url.parse("s3://a/b").holds(Url.parse("s3://a/bc/d.jpg"))
    assert not Url.parse("s3://a").holds(Url.parse("s3://ab/c.jpg"))


def test_shards_are_disjoint_complete_and_about_equal():
    names = [Url("s3://a", f"{number}.jpg") for number in range(3000)]
    shares = [{url for url in names if Shard(index, 7).holds(url)} for index in range(1, 8)]
    assert sum(map(len, shares)) == 3000
    assert set().union(*shares) == set(names)
    assert all(350 < len(share) < 510 for share in shares)


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", ""])
def test_impossible_shards(text):
    with pytest.raises(SystemExit) as stop:
        enhance("a.jpg", "--shard", text)
    assert stop.value.code == exit_codes.USAGE


class Flaky:
    """A file system that fails so many times before it answers."""

    def __init__(self, failures, error):
        self.failures, self.error, self.calls = failures, error, 0

    def cat_file(self, path, **_):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return b"data"


@pytest.fixture
def no_pauses(monkeypatch):
    waits = []
    monkeypatch.setattr(stores.interrupted, "wait", lambda seconds: waits.append(seconds))
    return waits


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), OSError("503"), RuntimeError("throttled")])
def test_what_fails_for_a_moment_is_tried_again_with_growing_pauses(no_pauses, error):
    flaky = Flaky(6, error)
    assert remote.Remote(flaky, "", Url("memory://x", "")).read("a", None) == b"data"
    assert flaky.calls == 7
    assert all(wait <= 30 for wait in no_pauses)
    assert no_pauses[4] > no_pauses[0]
    assert sum(no_pauses) > 10


def test_what_keeps_failing_is_reported(no_pauses):
    flaky = Flaky(99, OSError("the line is down: https://key:secret@host/x"))
    with pytest.raises(ImageError, match=r"cannot be read from the store: the line is down \(9 attempts\)"):
        remote.Remote(flaky, "", Url("memory://x", "")).read("a", None)
    assert sum(no_pauses) < 240


@pytest.mark.parametrize(
    ("error", "words"), [(FileNotFoundError(), "no such object"), (PermissionError(), "no permission to read it")]
)
def test_what_fails_for_good_is_not_tried_again(no_pauses, error, words):
    flaky = Flaky(99, error)
    with pytest.raises(ImageError, match=words):
        remote.Remote(flaky, "", Url("memory://x", "")).read("a", None)
    assert flaky.calls == 1


def test_missing_credentials_are_reported_once(no_pauses):
    class NoCredentialsError(Exception):
        pass

    with pytest.raises(EnvironmentMissingError, match="no credentials for s3://"):
        remote.Remote(Flaky(99, NoCredentialsError()), "", Url("s3://x", "")).read("a", None)


def test_a_store_that_renames(memory):
    store = opening.open_store("memory://box")
    store.put("deep/er/a.jpg", b"one")
    store.put("deep/er/a.jpg", b"two")
    assert store.read("deep/er/a.jpg", None) == b"two"
    assert list(store.list("deep")) == [("deep/er/a.jpg", 3)]
    assert store.stat("deep/er/a.jpg") == 3
    assert store.stat("nothing") is None
    assert store.stat("deep") is None


def test_a_crash_while_writing_leaves_no_object_and_its_part_is_removed_a_day_later(memory, monkeypatch):
    store = opening.open_store("memory://box")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(memory), "mv", killed)
    monkeypatch.setattr(type(memory), "rm_file", lambda *_: None)  # nobody tidies up
    with pytest.raises(KeyboardInterrupt):
        store.put("a.jpg", b"data")
    monkeypatch.undo()
    ((part, _),) = store.list("")
    assert part.endswith(PART_SUFFIX)
    assert store.delete_parts("") == 0  # somebody may be writing it
    monkeypatch.setattr(remote, "_STALE_SECONDS", -1)
    assert store.delete_parts("") == 1
    assert list(store.list("")) == []


def test_any_store_of_fsspec_gives_the_bytes_of_a_disk(memory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    mild_weights(tmp_path / "w.safetensors")
    for name in ("a.png", "sub/b.png", "sub/deeper/c.png"):
        memory.pipe_file(f"/box/{name}", make(tmp_path / "in" / name).read_bytes())
    memory.pipe_file("/box/.hidden.png", saved(reef(), "PNG"))
    memory.pipe_file("/box/clip.THM", saved(reef(), "JPEG"))
    assert enhance("in", "-r", "-o", "disk", "-q") == 0
    assert enhance("memory://box", "-o", "memory://out/x", "-q") == 0
    found = {name.removeprefix("/out/x/"): memory.cat_file(name) for name in memory.find("/out/x")}
    assert found == {name: (tmp_path / "disk" / name).read_bytes() for name in tree(tmp_path / "disk")}
    before = {name: memory.info(name)["created"] for name in memory.find("/out/x")}
    assert enhance("memory://box", "-o", "memory://out/x", "-q") == 0
    assert {name: memory.info(name)["created"] for name in memory.find("/out/x")} == before


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "gs", raising=False)  # left by another test
    forget_stores()
    assert enhance("gs://bucket/raw", "-o", "out/") == exit_codes.ENVIRONMENT
    assert "gs:// needs another package: pip install 'gcsfs'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert enhance("s3://bucket-of-nobody/raw", "-o", "out/") == exit_codes.ENVIRONMENT
    assert "pip install 'pic-uie[cloud]'" in capsys.readouterr().err
    assert enhance("nonsense://x/y", "-o", "out/") in (exit_codes.USAGE, exit_codes.ENVIRONMENT)


def test_ray_is_named_when_it_is_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    mild_weights(tmp_path / "w.safetensors")
    make(tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert enhance("a.png", "--on", "ray") == exit_codes.ENVIRONMENT
    assert "pip install 'pic-uie[ray]'" in capsys.readouterr().err


def test_the_disk_needs_none_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(weights, "DEFAULT_PATH", tmp_path / "w.safetensors")
    mild_weights(tmp_path / "w.safetensors")
    make(tmp_path / "a.png")
    for name in ("fsspec", "s3fs", "ray", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert enhance("a.png", "-q", "--report", "r.jsonl") == 0


class Listing:
    """Lists given names, as a store would."""

    def __init__(self, names):
        self.names = names

    def __iter__(self):
        return iter((name, 1) for name in self.names)


def test_results_are_looked_up_in_a_listing_that_runs_beside():
    there = archive._Existing(iter([("out/a", 1), ("out/b", 0), ("out/d", 5), ("out/é", 1)]), "out")
    asked = {name: there.has(Url("s3://x", f"out/{name}")) for name in ("a", "b", "c", "d", "e", "é", "海")}
    assert asked == {"a": True, "b": False, "c": False, "d": True, "e": False, "é": True, "海": False}


def test_a_listing_in_another_order_is_not_trusted():
    there = archive._Existing(iter(Listing(["b", "a", "c"])), "")
    assert there.has(Url("s3://x", "a")) is False  # behind b, which is larger
    assert there.has(Url("s3://x", "c")) is None
    there = archive._Existing(iter(Listing(["a", "b", "c"])), "")
    assert there.has(Url("s3://x", "c")) is True
    assert there.has(Url("s3://x", "b")) is None


@pytest.mark.parametrize("in_order", [True, False])
def test_results_that_collide_are_found_with_and_without_order(in_order):
    names = sorted(["a.heic", "a.jpg", "a-1.heic", "a-1.jpg", "a (2).jpg", "b/a.jpg", "ab.heic", "ab.jpg", "a.b.jpg"])
    seen = archive._Seen(in_order=in_order)
    second = [name for name in names if not seen.first(name, name.replace(".heic", ".jpg"))]
    assert second == ["a-1.jpg", "a.jpg", "ab.jpg"]
