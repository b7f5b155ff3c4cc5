"""`pic-uie enhance` from bucket to bucket over HTTP: the same bytes as on a disk, whatever the store does meanwhile."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from helpers.command import PIC_UIE, enhance, tree
from helpers.faulty_proxy import BROKEN, BUSY, FORBIDDEN
from helpers.pictures import camera_exif, mild_weights, reef, saved
from pic_uie import images, weights
from pic_uie.batch import buckets, opening, remote
from pic_uie.cli import exit_codes

COUNT = 24


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Pictures of several formats in folders, one that is damaged, notes, and what a run on a disk makes of them."""
    root = tmp_path_factory.mktemp("survey")
    mild_weights(root / "w.safetensors")
    for number in range(COUNT):
        folder = root / "in" / ("", "day 1", "day 1/ü 海", "day-2")[number % 4]
        folder.mkdir(parents=True, exist_ok=True)
        name = ("JPEG", "PNG", "WEBP")[number % 3]
        exif = {"exif": b"Exif\0\0" + camera_exif(1 + number % 8)}
        (folder / f"{number:03d}.{name.lower()}").write_bytes(saved(reef(48, 64, seed=number), name, **exif))
    (root / "in/damaged.jpg").write_bytes(saved(reef(), "JPEG")[:300])
    (root / "in/no-suffix").write_bytes(saved(reef(), "PNG"))
    (root / "in/notes.txt").write_text("no picture")
    (root / "in/.hidden.jpg").write_bytes(saved(reef(), "JPEG"))
    command = [*PIC_UIE, "enhance", "in", "-r", "-o", "out", "--weights", "w.safetensors", "-q"]
    assert subprocess.run(command, cwd=root, check=False).returncode == exit_codes.FAILED
    return root


@pytest.fixture
def uploaded(s3, survey, monkeypatch, tmp_path):
    for name in tree(survey / "in"):
        s3.pipe_file(f"survey-in/raw/{name}", (survey / "in" / name).read_bytes())
    s3.proxy.requests.clear()
    monkeypatch.setattr(weights, "DEFAULT_PATH", survey / "w.safetensors")
    monkeypatch.setattr(remote, "_FIRST_WAIT", 0.05)
    monkeypatch.chdir(tmp_path)
    return s3


@pytest.fixture
def expected(survey):
    return {name: (survey / "out" / name).read_bytes() for name in tree(survey / "out")}


def test_bucket_to_bucket_is_byte_for_byte_the_run_on_a_disk(uploaded, contents, expected, capsys):
    arguments = ["s3://survey-in/raw", "-o", "s3://survey-out/better/", "--report", "run.jsonl"]
    assert enhance(*arguments) == exit_codes.FAILED
    assert contents("survey-out/better") == expected
    errors = capsys.readouterr().err
    assert "s3://survey-in/raw/damaged.jpg: damaged JPEG" in errors
    assert f"{COUNT + 1} enhanced, 1 ignored because they are not pictures, 1 failed" in errors
    lines = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]
    assert len(lines) == COUNT + 2
    assert {line["output"] for line in lines if line["status"] == "done"} == {
        f"s3://survey-out/better/{name}" for name in expected
    }
    # again: nothing is read but the one that failed and the one whose name says nothing; one listing tells the rest
    uploaded.proxy.requests.clear()
    assert enhance(*arguments) == exit_codes.FAILED
    assert f"0 enhanced, {COUNT + 1} skipped" in capsys.readouterr().err
    read = {path for method, path in uploaded.proxy.requests if method == "GET" and "list-type" not in path}
    assert read == {"/survey-in/raw/damaged.jpg", "/survey-in/raw/notes.txt"}
    assert not [path for method, path in uploaded.proxy.requests if method in ("PUT", "HEAD")]


def test_from_a_store_to_a_disk_and_from_a_disk_to_a_store(uploaded, contents, expected, survey):
    assert enhance("s3://survey-in/raw", "-o", "local/", "-q") == exit_codes.FAILED
    assert {name: Path("local", name).read_bytes() for name in tree(Path("local"))} == expected
    assert enhance(survey / "in", "-r", "-o", "s3://survey-out/up", "-q") == exit_codes.FAILED
    assert contents("survey-out/up") == expected
    uploaded.proxy.requests.clear()
    assert enhance(survey / "in", "-r", "-o", "s3://survey-out/up", "-q") == exit_codes.FAILED
    assert not [path for method, path in uploaded.proxy.requests if method == "PUT"]


def test_one_object_a_list_and_another_format(uploaded, contents):
    assert enhance("s3://survey-in/raw/000.jpeg", "-o", "s3://survey-out/one", "-q") == 0
    assert list(contents("survey-out/one")) == ["000.jpeg"]
    with open("list.txt", "w") as file:
        file.write("s3://survey-in/raw/000.jpeg\ns3://survey-in/raw/day 1/001.png\ns3://survey-in/raw/missing.png\n")
    assert enhance("@list.txt", "-o", "s3://survey-out/two", "--format", "jpeg", "-q") == exit_codes.FAILED
    assert sorted(contents("survey-out/two")) == ["raw/000.jpeg", "raw/day 1/001.jpg"]


def test_shards_share_the_work_and_their_reports_are_merged(uploaded, contents, expected, capsys):
    for index in (1, 2, 3):
        options = ["--shard", f"{index}/3", "--report", f"{index}.jsonl", "-q"]
        code = enhance("s3://survey-in/raw", "-o", "s3://survey-out/better", *options)
        assert code in (0, exit_codes.FAILED)
    assert contents("survey-out/better") == expected
    counts = [len(Path(f"{index}.jsonl").read_text().splitlines()) for index in (1, 2, 3)]
    assert sum(counts) == COUNT + 2
    assert min(counts) > 0


def test_a_store_that_is_busy_for_a_while_slows_the_run_and_loses_nothing(uploaded, contents, expected):
    started, answers = time.monotonic(), iter([BUSY, BROKEN] * 1000)

    def trouble(method, path):
        return next(answers) if time.monotonic() - started < 3 else None

    uploaded.proxy.fault = trouble
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/better", "-q") == exit_codes.FAILED
    assert contents("survey-out/better") == expected


def test_a_store_that_stays_broken_is_reported_picture_by_picture(uploaded, monkeypatch, capsys, contents):
    monkeypatch.setattr(remote, "_ATTEMPTS", 2)
    uploaded.proxy.fault = lambda method, path: FORBIDDEN if method == "GET" and "/000.jpeg" in path else None
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/better", "-q") == exit_codes.FAILED
    assert "raw/000.jpeg: no permission to read it" in capsys.readouterr().err
    assert len(contents("survey-out/better")) == COUNT


def test_an_object_that_is_deleted_between_listing_and_reading(uploaded, contents, capsys, s3_server):
    direct = type(uploaded)(endpoint_url=f"http://127.0.0.1:{s3_server}", use_listings_cache=False)
    gone = once_only(lambda: direct.rm_file("survey-in/raw/day 1/001.png"))

    def delete(method, path):
        if method == "GET" and "list-type" not in path:
            gone()

    uploaded.proxy.fault = delete
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/better") == exit_codes.FAILED
    errors = capsys.readouterr().err
    assert "day 1/001.png: no such object; if it was listed, it was deleted since" in errors
    assert len(contents("survey-out/better")) == COUNT


def once_only(action):
    lock, done = threading.Lock(), []

    def once():
        with lock:
            if not done:
                done.append(action())

    return once


def test_an_object_that_grows_after_it_was_listed_is_read_whole(s3, monkeypatch):
    s3.pipe_file("survey-in/a", b"12345")
    store = opening.open_store("s3://survey-in")
    assert store.read("a", 5) == b"12345"
    s3.pipe_file("survey-in/a", b"123456789")
    assert store.read("a", 5) == b"123456789"
    s3.pipe_file("survey-in/a", b"")
    assert store.read("a", 0) == b""
    assert store.head("a", 4) == b""
    assert store.read("a", 5) == b""


def test_a_missing_bucket_for_results(uploaded, capsys):
    assert enhance("s3://survey-in/raw", "-o", "s3://no-such-bucket/x") == exit_codes.ENVIRONMENT
    assert "there is no bucket s3://no-such-bucket/; make it first" in capsys.readouterr().err


def test_a_missing_source(uploaded, capsys):
    assert enhance("s3://no-such-bucket/x", "-o", "s3://survey-out/x") == exit_codes.USAGE
    assert "there is no s3://no-such-bucket/x" in capsys.readouterr().err
    assert enhance("s3://survey-in/nothing", "-o", "s3://survey-out/x") == exit_codes.NOTHING_MATCHED


def test_no_permission_to_write_ends_the_run(uploaded, capsys):
    uploaded.proxy.fault = lambda method, path: FORBIDDEN if method == "PUT" else None
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/x") == exit_codes.ENVIRONMENT
    errors = capsys.readouterr().err
    assert "no permission to write there" in errors
    assert "results cannot be written: 0 enhanced" in errors
    assert "Make the place for results writable" in errors


def test_no_permission_to_list(uploaded, capsys, contents, expected):
    uploaded.proxy.fault = lambda method, path: FORBIDDEN if "survey-out" in path and "list-type" in path else None
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/better", "-q") == exit_codes.FAILED
    uploaded.proxy.behave()
    assert contents("survey-out/better") == expected
    uploaded.proxy.fault = lambda method, path: FORBIDDEN if "survey-in" in path and "list-type" in path else None
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/other") == exit_codes.ENVIRONMENT
    assert "no permission to list s3://survey-in/raw" in capsys.readouterr().err


def test_an_empty_result_is_made_again(uploaded, contents, expected):
    uploaded.pipe_file("survey-out/better/000.jpeg", b"")
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/better", "-q") == exit_codes.FAILED
    assert contents("survey-out/better") == expected


@pytest.mark.parametrize("output", ["s3://survey-in/raw", "s3://survey-in", None, "https://example.org/x"])
def test_places_that_cannot_be(uploaded, output, contents, capsys):
    before = contents("survey-in")
    assert enhance("s3://survey-in/raw", *(["-o", output] if output else [])) == exit_codes.USAGE
    assert contents("survey-in") == before


def test_results_below_the_sources_are_not_sources(uploaded, contents, expected):
    for _ in range(2):
        assert enhance("s3://survey-in/raw", "-o", "s3://survey-in/raw/better", "-q") == exit_codes.FAILED
    assert contents("survey-in/raw/better") == expected


def test_names_that_a_disk_cannot_have(s3, monkeypatch, tmp_path, survey, contents, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(weights, "DEFAULT_PATH", survey / "w.safetensors")
    data = saved(reef(), "PNG")
    for name in ("a//b.png", "c/../../d.png", "e.png"):
        s3.pipe_file(f"survey-in/odd/{name}", data)
    assert enhance("s3://survey-in/odd", "-o", "out/") == exit_codes.FAILED
    assert tree(tmp_path) == ["out/e.png"]
    assert capsys.readouterr().err.count("cannot be the name of a file on a disk") == 2
    assert enhance("s3://survey-in/odd", "-o", "s3://survey-out/odd", "-q") == 0
    assert len(contents("survey-out/odd")) == 3


def test_two_sources_for_one_result(uploaded, contents, capsys):
    for bucket in ("one", "two"):
        uploaded.pipe_file(f"survey-in/{bucket}/a.png", saved(reef(), "PNG"))
    arguments = ["s3://survey-in/one", "s3://survey-in/two", "-o", "s3://survey-out/x"]
    assert enhance(*arguments) == exit_codes.FAILED
    assert "another source is written to s3://survey-out/x/a.png as well" in capsys.readouterr().err


def test_credentials_are_in_no_message(uploaded, capsys, monkeypatch):
    monkeypatch.setattr(remote, "_ATTEMPTS", 1)
    uploaded.proxy.fault = lambda method, path: BROKEN if method == "GET" and "list-type" not in path else None
    options = ["-o", "s3://survey-out/x", "-v", "--report", "r.jsonl"]
    assert enhance("s3://survey-in/raw/000.jpeg", *options) == exit_codes.FAILED
    text = capsys.readouterr().err + Path("r.jsonl").read_text()
    assert "cannot be read from the store" in text
    assert "NOTLOGGED" not in text
    assert "secret-not-logged" not in text


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_run_again(uploaded, contents, expected, survey, number):
    command = [*PIC_UIE, "enhance", "s3://survey-in/raw", "-o", "s3://survey-out/better", "-q"]
    command += ["--weights", str(survey / "w.safetensors"), "--jobs", "1"]
    uploaded.proxy.fault = lambda method, path: time.sleep(0.2) if method == "PUT" else None
    process = subprocess.Popen(command, env=os.environ)
    deadline = time.monotonic() + 60
    while not uploaded.find("survey-out/better") and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(60) in (-signal.SIGKILL, exit_codes.INTERRUPTED)
    uploaded.proxy.behave()
    left = contents("survey-out/better")
    assert 0 < len(left) < len(expected)
    assert left.items() <= expected.items()
    assert subprocess.run(command, check=False).returncode == exit_codes.FAILED
    assert contents("survey-out/better") == expected


def test_a_dry_run(uploaded, capsys, contents):
    assert enhance("s3://survey-in/raw", "-o", "s3://survey-out/x", "--dry-run") == 0
    assert "s3://survey-in/raw/000.jpeg -> s3://survey-out/x/000.jpeg\n" in capsys.readouterr().out
    assert contents("survey-out") == {}


def test_work_starts_before_the_listing_ends(uploaded, contents, monkeypatch):
    """The second page of the listing comes after the first result, however long that takes."""
    monkeypatch.setattr(buckets, "PAGE", 5)
    for number in range(12):
        uploaded.pipe_file(f"survey-in/many/{number:05d}.txt", b"x")
    uploaded.pipe_file("survey-in/many/00000.png", saved(reef(), "PNG"))
    written, in_time = threading.Event(), []

    def look(method, path):
        if "list-type" in path and "continuation-token" in path and "survey-in" in path:
            in_time.append(written.wait(120))
        if method == "PUT":
            written.set()

    uploaded.proxy.fault = look
    assert enhance("s3://survey-in/many", "-o", "s3://survey-out/many", "-q") == 0
    assert in_time
    assert all(in_time)
    assert images.read(contents("survey-out/many")["00000.png"]).pixels.size
