"""A Ray cluster of two machines (two raylets of this one) that loses one in mid-run: the rest finishes, same bytes."""

import sys
import threading
import time
from pathlib import Path

import pytest

from helpers.command import tree
from helpers.pictures import mild_weights, reef, saved
from pic_uie import Enhancer, __version__
from pic_uie.batch import archive, on_ray
from pic_uie.batch.mapping import DiskJob
from pic_uie.batch.process import Settings, process

ray = pytest.importorskip("ray", reason="ray is not installed")
COUNT = 40


@pytest.fixture
def cluster():
    """The cluster, and the machine that will be lost."""
    from ray.cluster_utils import Cluster

    soon = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_timeout_ms": 2000}
    cluster = Cluster(
        initialize_head=True,
        connect=True,
        head_node_args={
            "num_cpus": 1,
            "include_dashboard": False,
            "object_store_memory": 100 << 20,
            "_system_config": soon,  # Ray's own patience is half a minute
        },
    )
    node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    yield cluster, node
    ray.shutdown()
    cluster.shutdown()


def noted(jobs, engine, settings):
    """Notes its machine; on the one that will be lost, writes half of its pictures and then waits for the end."""
    folder = Path(settings.software.partition("|")[2])
    here = ray.get_runtime_context().get_node_id()
    if here != (folder / "doomed").read_text():
        return on_ray.enhance_chunk(jobs, engine, settings)
    on_ray.enhance_chunk(jobs[:2], engine, settings)
    (folder / "at work").touch()
    time.sleep(600)
    raise AssertionError("the machine was not lost")


def test_a_machine_that_is_lost_in_mid_run(cluster, s3, contents, tmp_path):
    machines, node = cluster
    mild_weights(tmp_path / "w.safetensors")
    for number in range(COUNT):
        name, data = f"{number:03d}.png", saved(reef(24, 32, seed=number), "PNG")
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
        s3.pipe_file(f"survey-in/raw/{name}", data)
    enhancer = Enhancer(tmp_path / "w.safetensors", threads=1)
    software = f"pic-uie {__version__}|{tmp_path}"
    (tmp_path / "doomed").write_text(node.node_id)

    def lose():
        while not (tmp_path / "at work").exists():
            time.sleep(0.05)
        machines.remove_node(node, allow_graceful=False)

    losing = threading.Thread(target=lose, daemon=True)
    losing.start()
    jobs = archive.stream(["s3://survey-in/raw"], "s3://survey-out/better")
    engine, how = on_ray.Engine(enhancer.weights), Settings(software=software)
    outcomes = list(on_ray.run(jobs, engine, how, stop=threading.Event(), chunk=4, enhance=noted))
    losing.join()
    assert [outcome.status for outcome in outcomes] == ["done"] * COUNT
    assert len({outcome.input for outcome in outcomes}) == COUNT
    while sum(one["Alive"] for one in ray.nodes()) > 1:  # Ray notices some time later
        time.sleep(0.1)
    assert contents("survey-out/better") == on_a_disk(tmp_path, enhancer, how)


def on_a_disk(folder, enhancer, how):
    for name in tree(folder / "in"):
        assert process(DiskJob(folder / "in" / name, folder / "out" / name), enhancer, how).status == "done"
    return {name: (folder / "out" / name).read_bytes() for name in tree(folder / "out")}
