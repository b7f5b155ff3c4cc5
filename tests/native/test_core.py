"""Builds the C++ core without Python and runs its own tests: under sanitizers, and for aarch64 in an emulator."""

import os
import shutil
import subprocess

import pytest

ROUNDS = "25"
TOOLS = "aarch64-linux-gnu-g++", "qemu-aarch64"


def build(root, name, *options):
    """Returns the executable; the folder stays, so that only what changed is built again."""
    folder = root / "build" / name
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    source = str(root / "tests" / "native")
    run([cmake, "-S", source, "-B", str(folder), *generator, *options])
    run([cmake, "--build", str(folder), "--parallel", "2"])
    return str(folder / "native_tests")


def run(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def can_sanitize(folder):
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        return False
    source = folder / "probe.cpp"
    source.write_text("int main() {}")
    command = [compiler, "-fsanitize=address,undefined", str(source), "-o", str(folder / "probe")]
    return (
        subprocess.run(command, capture_output=True, check=False).returncode == 0
        and subprocess.run([str(folder / "probe")], capture_output=True, check=False).returncode == 0
    )


def test_core_under_sanitizers(root, tmp_path):
    if not can_sanitize(tmp_path):
        pytest.skip("no C++ compiler with the address and undefined-behaviour sanitizers")
    flags = "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -g1", "-DPIC_UIE_KERNEL_OPTIMISATION=-O1"
    tests = build(root, "native-tests-sanitized", "-DSANITIZE=ON", *flags)
    output = run([tests, ROUNDS, "1"], ASAN_OPTIONS="detect_leaks=0")
    assert "rounds passed" in output


def test_core_on_aarch64(root):
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: apt install g++-aarch64-linux-gnu qemu-user")
    tests = build(
        root,
        "native-tests-aarch64",
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        f"-DCMAKE_CXX_COMPILER={TOOLS[0]}",
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
        "-DCMAKE_BUILD_TYPE=Release",
    )
    assert "neon: 10 rounds passed" in run([TOOLS[1], tests, "10", "2"])
