"""What Python may hand to the native modules, and what happens to threads when the interpreter ends."""

import subprocess
import sys

import numpy as np
import pytest

from pic_uie.enhancer import Enhancer

ENDING = """
import threading, time
import numpy as np
import pic_uie
image = np.zeros((1500, 1500, 3), np.uint8)
enhancer = pic_uie.Enhancer(threads=2)
def work():
    while True:
        enhancer.enhance(image)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
NO_MORE_THREADS = """
import resource
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + {spare}, -1))
"""


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("attempt", range(2))
def test_the_interpreter_ends_while_daemon_threads_enhance(attempt):
    done = run(ENDING)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_thread_that_python_cannot_start_is_an_error():
    done = run(ENDING + NO_MORE_THREADS.format(spare=1 << 20) + "threading.Thread(target=work).start()")
    assert done.returncode == 1, done.stderr
    assert "can't start new thread" in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_helpers_that_cannot_be_started_are_done_without():
    """A stack is 8 MB of address space: with less to spare the caller does all the work, to the same bytes."""
    script = """
import threading
import numpy as np
import pic_uie
image = np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8)
expected = pic_uie.Enhancer(threads=1).enhance(image)
enhancer = pic_uie.Enhancer(threads=1)
enhancer.enhance(image)  # has its memory now
"""
    check = """
assert np.array_equal(enhancer.enhance(image, threads=8), expected)
print(sum(1 for line in open("/proc/self/status") if line == "Threads:\\t1\\n"))
"""
    blas = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
    done = run(blas + script + NO_MORE_THREADS.format(spare=3 << 20) + check)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_training_works_without_more_threads_too():
    pytest.importorskip("torch")
    script = """
import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'
import numpy as np
from pic_uie import _training
x = np.random.default_rng(0).random((6, 30, 30), np.float32)
expected = np.empty((6, 1, 2))
_training.structure(x, x[::-1].copy(), 1, expected, 1)
"""
    check = """
means = np.empty((6, 1, 2))
_training.structure(x, x[::-1].copy(), 1, means, 8)
assert np.array_equal(means, expected)
"""
    done = run(script + NO_MORE_THREADS.format(spare=3 << 20) + check)
    assert done.returncode == 0, done.stderr


def training_inputs(batch=2, height=12, width=16):
    rng = np.random.default_rng(1)
    shapes = [
        (batch, 3, height, width),
        *[(batch, 1, 4, 4)] * 3,
        (batch, 33),
        (batch, 2, 9, 9),
        (batch, 3, 3),
        (batch, 3),
    ]
    return [rng.random(shape, np.float32) for shape in (*shapes, (2,), (465,))]


def outputs(batch=2, height=12, width=16):
    z1, refined = np.empty((batch, 3, height, width), np.float32), np.empty((batch, height, width), np.float32)
    return [z1, refined, np.empty((batch, 3)), np.empty((batch, 3, 3))]


@pytest.mark.parametrize("index", range(10))
@pytest.mark.parametrize("change", ["flattened", "transposed", "batch", "type", "strided"])
def test_training_arrays_must_fit_one_batch(index, change):
    _training = pytest.importorskip("pic_uie._training")
    inputs = training_inputs()
    array = inputs[index]
    _training.correct(tuple(inputs), *outputs(), 1)
    wrong = {
        "flattened": array.reshape(1, -1),  # as many elements, and read as one item of twice the size
        "transposed": np.ascontiguousarray(array.T) if array.ndim > 1 and array.T.shape != array.shape else array[:-1],
        "batch": array[:1] if array.ndim > 1 else array[: array.size // 2],
        "type": array.astype(np.float64),
        "strided": np.repeat(array, 2, axis=-1)[..., ::2],
    }[change]
    inputs[index] = wrong
    with pytest.raises(ValueError, match=r"must|expected|side"):
        _training.correct(tuple(inputs), *outputs(), 1)


def test_training_outputs_must_fit_and_be_writeable():
    _training = pytest.importorskip("pic_uie._training")
    inputs = tuple(training_inputs())
    z1, refined, mean, covariance = outputs()
    with pytest.raises(ValueError, match="mean must be a C-contiguous array of type 'd' and shape"):
        _training.correct(inputs, z1, refined, np.empty((1, 6)), covariance, 1)
    with pytest.raises(ValueError, match="refined must be a C-contiguous array"):
        _training.correct(inputs, z1, refined[:1], mean, covariance, 1)
    z1.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-only"):
        _training.correct(inputs, z1, refined, mean, covariance, 1)
    with pytest.raises(ValueError, match="threads"):
        _training.correct(inputs, *outputs(), 0)


def overlapping(kind):
    memory = np.zeros(100_000, np.uint8)
    strides = {
        "pixels": (48, 2, 1),
        "rows": (20, 3, 1),
        "channels": (48, 3, 0),
        "windows": (3, 3, 1),
        "turned": (1, 7, 3),
    }
    return np.lib.stride_tricks.as_strided(memory, (10, 16, 3), strides[kind])


@pytest.mark.parametrize("kind", ["pixels", "rows", "channels", "windows", "turned"])
def test_output_whose_samples_overlap_is_refused(kind):
    with pytest.raises(ValueError, match="overlap"):
        Enhancer(threads=1).enhance(np.zeros((10, 16, 3), np.uint8), out=overlapping(kind))


def test_output_of_any_layout_without_overlap_is_fine():
    image = np.random.default_rng(0).integers(0, 256, (10, 16, 3), np.uint8)
    enhancer = Enhancer(threads=1)
    expected = enhancer.enhance(image)
    planar = np.empty((3, 10, 16), np.uint8).transpose(1, 2, 0)
    turned = np.empty((16, 10, 3), np.uint8).transpose(1, 0, 2)
    sparse = np.empty((20, 32, 6), np.uint8)[::-2, ::2, ::2]
    for out in (planar, turned, sparse):
        assert np.array_equal(enhancer.enhance(image, out=out), expected)


@pytest.mark.parametrize("module", ["_native", "_training"])
def test_the_stubs_are_what_nanobind_writes(module, root, tmp_path):
    pytest.importorskip("nanobind")
    command = [
        sys.executable,
        "-m",
        "nanobind.stubgen",
        "-q",
        "-m",
        f"pic_uie.{module}",
        "-o",
        str(tmp_path / "stub.pyi"),
    ]
    subprocess.run(command, check=True)
    kept = (root / "src" / "pic_uie" / f"{module}.pyi").read_text()
    assert (tmp_path / "stub.pyi").read_text() == kept, "run `make stubs`"
