"""One picture from file to file, with an engine that works and engines that do not."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from helpers.pictures import camera_exif, mild_weights, opened, reef, saved
from helpers.samples import some_look
from pic_uie import Enhancer, images
from pic_uie.batch.ledger import Ledger, Outcome, shown
from pic_uie.batch.mapping import Job
from pic_uie.batch.process import Interrupted, Settings, process
from pic_uie.errors import EnvironmentMissingError
from pic_uie.strengths import Strengths


class Inverting:
    """An engine whose result anyone can predict; alpha is left alone, as the real one leaves it."""

    def enhance_with_look(self, img, strengths, *, out=None):
        result = img.copy()
        colours = 3 if img.shape[2] >= 3 else 1
        result[:, :, :colours] = np.iinfo(img.dtype).max - img[:, :, :colours]
        if out is not None:
            out[:] = result
        return result, some_look(0)


class Raising:
    def __init__(self, error):
        self.error = error

    def enhance_with_look(self, img, strengths, *, out=None):
        raise self.error


@pytest.fixture
def job(tmp_path):
    source = tmp_path / "a.png"
    source.write_bytes(saved(reef(), "PNG"))
    return Job(source, tmp_path / "new" / "folder" / "a.png")


def test_done_with_sizes_and_times_per_stage(job):
    outcome = process(job, Inverting(), Settings())
    assert (outcome.status, outcome.error, outcome.width, outcome.height) == ("done", None, 64, 48)
    assert outcome.bytes_in == job.source.stat().st_size
    assert outcome.bytes_out == job.output.stat().st_size
    assert list(outcome.milliseconds) == ["read", "decode", "enhance", "encode", "write"]
    assert np.array_equal(images.read(job.output).pixels, 255 - reef())


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_alpha_is_never_touched(tmp_path, channels, kind):
    pixels = reef(channels=channels, dtype=kind)
    source, output = tmp_path / "a.png", tmp_path / "b.png"
    images.write(images.Picture(pixels, bits=8 * pixels.itemsize), source)
    assert process(Job(source, output), Inverting(), Settings()).status == "done"
    result = images.read(output).pixels
    colours = channels - (channels in (2, 4))
    assert result.dtype == kind
    assert np.array_equal(result[:, :, :colours], np.iinfo(kind).max - pixels[:, :, :colours])
    assert np.array_equal(result[:, :, colours:], pixels[:, :, colours:])


def test_a_result_whose_name_says_otherwise_is_reported(tmp_path):
    source = tmp_path / "a.png"
    source.write_bytes(saved(reef(), "JPEG"))
    outcome = process(Job(source, tmp_path / "b.png"), Inverting(), Settings())
    assert outcome.notes == ("its name says otherwise, but it is a JPEG",)
    assert process(Job(source, tmp_path / "b.jpg"), Inverting(), Settings()).notes == ()


def test_the_real_engine_gives_the_same_pixels_as_the_file(tmp_path):
    weights = mild_weights(tmp_path / "w.safetensors")
    enhancer = Enhancer(weights, threads=1)
    source, output = tmp_path / "a.png", tmp_path / "b.png"
    source.write_bytes(saved(reef(), "PNG", exif=b"Exif\0\0" + camera_exif(orientation=1)))
    settings = Settings(Strengths(strength=0.5), software="pic-uie 1 (weights 0)")
    assert process(Job(source, output), enhancer, settings).status == "done"
    assert np.array_equal(np.asarray(opened(output.read_bytes())), enhancer.enhance(reef(), strength=0.5))
    assert opened(output.read_bytes()).getexif()[0x0131] == settings.software


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("expected samples in [0, 1]"), "cannot be enhanced: expected samples in [0, 1]"),
        (MemoryError(), "not enough memory for this picture; try --jobs 1"),
        (RuntimeError("oops"), "internal error, please report it: RuntimeError: oops"),
        (EnvironmentMissingError("no core"), "no core"),
    ],
)
def test_what_the_engine_raises_is_reported_and_nothing_is_written(job, error, words):
    outcome = process(job, Raising(error), Settings())
    assert (outcome.status, outcome.error) == ("failed", words)
    assert not job.output.parent.exists()


def test_a_request_to_stop_is_obeyed_between_stages(job):
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 4:  # the last one, in front of writing
            raise Interrupted

    with pytest.raises(Interrupted):
        process(job, Inverting(), Settings(), check=check)
    assert not job.output.parent.exists()


@pytest.mark.parametrize(
    ("number", "words", "full"),
    [
        (errno.ENOSPC, "the disk is full", True),
        (errno.EDQUOT, "your disk quota is used up", True),
        (errno.EROFS, "the file system is read-only", False),
        (errno.EACCES, "no permission to write there", False),
        (errno.EIO, "Input/output error", False),
    ],
)
def test_write_errors_are_reported_in_plain_words(job, monkeypatch, number, words, full):
    def fail(path, data, *, overwrite, mode):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pic_uie.batch.results.atomic_write", fail)
    outcome = process(job, Inverting(), Settings())
    assert outcome.error == f"cannot write {job.output}: {words}"
    assert outcome.unwritable == full


def test_things_in_the_way_of_an_output(job):
    job.output.mkdir(parents=True)
    assert "a folder is in its place" in process(job, Inverting(), Settings()).error
    blocked = Job(job.source, job.source / "b.png")
    assert "something else is in its place" in process(blocked, Inverting(), Settings()).error
    deeper = Job(job.source, job.source / "c" / "b.png")
    assert "a part of the path is a file, not a folder" in process(deeper, Inverting(), Settings()).error


def test_an_output_that_appeared_meanwhile_is_not_replaced(job):
    job.output.parent.mkdir(parents=True)
    job.output.write_bytes(b"mine")
    outcome = process(job, Inverting(), Settings(overwrite=False))
    assert outcome.status == "failed"
    assert job.output.read_bytes() == b"mine"
    assert process(job, Inverting(), Settings(overwrite=True)).status == "done"


def test_a_vanished_source(job):
    job.source.unlink()
    assert process(job, Inverting(), Settings()).error == "no such file or folder"


def test_the_ledger_counts_and_reports(tmp_path):
    report = tmp_path / "run.jsonl"
    with Ledger(report) as ledger:
        ledger.add(Outcome("a", "b", milliseconds={"decode": 1.5}))
        ledger.add(Outcome("ü\udcff", None, "failed", "bad"))
        assert len(report.read_text().splitlines()) == 2  # written at once, not at the end
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["milliseconds"] == {"decode": 1.5}
    assert (lines[1]["input"], lines[1]["status"], lines[1]["error"]) == ("ü\udcff", "failed", "bad")
    assert (ledger.counts["done"], ledger.counts["failed"], ledger.total) == (1, 1, 2)


def test_a_report_that_cannot_be_written(tmp_path):
    with pytest.raises(EnvironmentMissingError, match="cannot write the report"):
        Ledger(tmp_path / "missing" / "run.jsonl")
    with pytest.raises(EnvironmentMissingError, match="the disk is full"), Ledger(Path("/dev/full")) as ledger:
        ledger.add(Outcome("a", "b"))


def test_names_cannot_trick_the_terminal():
    assert shown("a\x1b[31m\nb\udcff ü.jpg") == "a\\x1b[31m\\nb\\udcff ü.jpg"
