"""The batch on a real Ray cluster with two workers: killed workers, killed drivers, and the same bytes as on a disk."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from helpers.command import PIC_UIE, enhance, tree
from helpers.pictures import mild_weights, reef, saved
from pic_uie import Enhancer, __version__
from pic_uie import weights as weights_file
from pic_uie.batch import archive, on_ray
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import Settings
from pic_uie.cli import exit_codes

ray = pytest.importorskip("ray", reason="ray is not installed")
COUNT = 300


@pytest.fixture(scope="module")
def cluster():
    """A cluster of this machine with two workers; the command finds it by RAY_ADDRESS."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # beside other tests, workers of Ray's default 15 would starve
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    address = ray.get_runtime_context().gcs_address
    yield address
    ray.shutdown()


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    root = tmp_path_factory.mktemp("ray")
    mild_weights(root / "w.safetensors")
    (root / "in").mkdir()
    for number in range(COUNT):
        (root / "in" / f"{number:03d}.png").write_bytes(saved(reef(24, 32, seed=number), "PNG"))
    (root / "in/150.png").write_bytes(b"\x89PNG\r\n\x1a\n damaged")
    command = [*PIC_UIE, "enhance", "in", "-o", "out", "--weights", "w.safetensors", "-q"]
    assert subprocess.run(command, cwd=root, check=False).returncode == exit_codes.FAILED
    return root


@pytest.fixture
def expected(survey):
    return {name: (survey / "out" / name).read_bytes() for name in tree(survey / "out")}


def deadly(jobs, engine, settings):
    """What a task does in these tests: one picture kills its worker, as a codec that crashes would."""
    if any("077" in str(job.source) for job in jobs):
        for job in jobs:
            if "077" in str(job.source):
                os.kill(os.getpid(), signal.SIGKILL)
            on_ray.enhance_chunk([job], engine, settings)
    return on_ray.enhance_chunk(jobs, engine, settings)


def settings(survey):
    enhancer = Enhancer(survey / "w.safetensors", threads=1)
    return on_ray.Engine(enhancer.weights), Settings(
        software=f"pic-uie {__version__} (weights {enhancer.weights.short_hash})"
    )


def test_bucket_to_bucket_with_a_damaged_picture_and_one_that_kills_its_worker(cluster, s3, contents, survey, expected):
    for name in tree(survey / "in"):
        s3.pipe_file(f"survey-in/raw/{name}", (survey / "in" / name).read_bytes())
    engine, how = settings(survey)
    jobs = archive.stream(["s3://survey-in/raw"], "s3://survey-out/better")
    outcomes = list(on_ray.run(jobs, engine, how, stop=threading.Event(), chunk=4, enhance=deadly))
    by_name = {outcome.input.rpartition("/")[2]: outcome for outcome in outcomes}
    assert len(outcomes) == len(by_name) == COUNT
    failed = {name: outcome.error for name, outcome in by_name.items() if outcome.status == "failed"}
    assert set(failed) == {"077.png", "150.png"}
    assert "its worker process died twice on this picture alone" in failed["077.png"]
    assert {outcome.status for name, outcome in by_name.items() if name not in failed} == {"done"}
    found = contents("survey-out/better")
    assert found == {name: data for name, data in expected.items() if name != "077.png"}
    # the same command again, without the hook, ends in the objects of the disk
    again = list(on_ray.run(_again(), engine, how, stop=threading.Event()))
    assert sorted(outcome.status for outcome in again) == ["done"] + ["failed"] + ["skipped"] * (COUNT - 2)
    assert contents("survey-out/better") == expected


def _again():
    return archive.stream(["s3://survey-in/raw"], "s3://survey-out/better")


def noted(jobs, engine, settings):
    """Notes the number of the process, and takes its time."""
    Path(settings.software.partition("|")[2], str(os.getpid())).touch()
    time.sleep(0.2)
    return on_ray.enhance_chunk(jobs, engine, settings)


def test_a_worker_that_is_killed_from_outside(cluster, survey, tmp_path):
    engine, _ = settings(survey)
    pids = tmp_path / "pids"
    pids.mkdir()
    jobs = [DiskJob(survey / "in" / f"{n:03d}.png", tmp_path / "out" / f"{n:03d}.png") for n in range(24)]
    run = on_ray.run(jobs, engine, Settings(software=f"x|{pids}"), stop=threading.Event(), chunk=4, enhance=noted)
    outcomes = [next(run)]
    victims = [int(path.name) for path in pids.iterdir()]
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    outcomes += run
    assert victims
    assert [outcome.status for outcome in outcomes] == ["done"] * 24
    assert len(tree(tmp_path / "out")) == 24


def test_the_command_on_a_disk_gives_the_same_bytes(cluster, survey, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(weights_file, "DEFAULT_PATH", survey / "w.safetensors")
    monkeypatch.chdir(survey)  # relative names mean the same files in a worker
    out = tmp_path / "out"
    assert enhance("in", "-o", out, "--on", "ray", "--report", tmp_path / "r.jsonl") == exit_codes.FAILED
    assert {name: (out / name).read_bytes() for name in tree(out)} == expected
    errors = capsys.readouterr().err
    assert "in/150.png: damaged PNG" in errors
    assert f"{COUNT - 1} enhanced, 1 failed" in errors
    assert '"input": "in/000.png"' in (tmp_path / "r.jsonl").read_text()


def test_the_driver_is_killed_and_run_again(cluster, s3, contents, survey, expected):
    names = tree(survey / "in")[:60]
    for name in names:
        s3.pipe_file(f"survey-in/raw/{name}", (survey / "in" / name).read_bytes())
    places = ["s3://survey-in/raw", "-o", "s3://survey-out/better"]
    command = [*PIC_UIE, "enhance", *places, "--on", "ray", "-q", "--weights", "w.safetensors"]
    environment = os.environ | {"RAY_ADDRESS": cluster}
    results, halfway, killed = [], threading.Event(), threading.Event()

    def hold(method, path):
        """Lets 20 results through, and the others only when the driver is dead."""
        if method == "PUT":
            results.append(path)
            if len(results) > 20:
                halfway.set()
                killed.wait(120)

    s3.proxy.fault = hold
    process = subprocess.Popen(command, cwd=survey, env=environment, stderr=subprocess.PIPE)
    assert halfway.wait(120), process.poll()
    deadline = time.monotonic() + 60
    while len(contents("survey-out/better")) < 20 and time.monotonic() < deadline:
        time.sleep(0.1)  # the last of them may still be on its way
    process.kill()
    assert process.wait() == -signal.SIGKILL
    left = contents("survey-out/better")
    assert len(left) == 20
    assert left.items() <= expected.items()
    killed.set()
    done = subprocess.run(command, cwd=survey, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert contents("survey-out/better") == {name: expected[name] for name in names}


def test_a_bounded_number_of_tasks(cluster, survey):
    """Jobs are a stream: no more are taken than two chunks for each of the two workers, and one in the hand."""
    engine, how = settings(survey)
    taken, finished, ahead = 0, 0, []

    def stream():
        nonlocal taken
        for number in range(200):
            taken += 1
            ahead.append(taken - finished)
            yield DiskJob(Path(f"/none/{number}.png"), Path(f"/none/out/{number}.png"))

    for _ in on_ray.run(stream(), engine, how, stop=threading.Event(), chunk=5):
        finished += 1
    assert finished == 200
    assert max(ahead) <= 4 * 5 + 5


def test_a_request_to_stop(cluster, survey):
    engine, how = settings(survey)
    stop = threading.Event()
    jobs = [DiskJob(Path(f"/none/{number}.png"), Path(f"/none/out/{number}.png")) for number in range(400)]
    outcomes = []
    for outcome in on_ray.run(jobs, engine, how, stop=stop, chunk=2):
        outcomes.append(outcome)
        stop.set()
    assert len(outcomes) <= 4


def broken(jobs, engine, settings):
    raise ImportError("No module named 'pic_uie'")


def test_workers_that_cannot_run_our_code(cluster, survey):
    from pic_uie.errors import EnvironmentMissingError

    engine, how = settings(survey)
    jobs = [DiskJob(Path("/none/a.png"), Path("/none/b.png"))]
    with pytest.raises(EnvironmentMissingError, match="install the same version on all machines"):
        list(on_ray.run(jobs, engine, how, stop=threading.Event(), enhance=broken))
