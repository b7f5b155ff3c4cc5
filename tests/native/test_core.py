"""Builds the C++ core without Python and runs its own tests: under sanitizers, and for aarch64 in an emulator."""

import os
import shutil
import subprocess
import sys

import pytest

ROUNDS = "25"
TOOLS = "aarch64-linux-gnu-g++", "qemu-aarch64"


def build(root, name, *options):
    """Returns the executable; the folder stays, so that only what changed is built again."""
    folder = root / "build" / name
    cmake = tool("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")
    ninja = tool("ninja")
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    source = str(root / "tests" / "native")
    run([cmake, "-S", source, "-B", str(folder), *generator, *options])
    run([cmake, "--build", str(folder), "--parallel", "2"])
    return str(folder / "native_tests")


def tool(name):
    """Finds a program, first beside the interpreter: the test extra installs cmake there."""
    return shutil.which(name, path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))


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


def test_no_code_for_one_instruction_set_can_stand_in_for_another(root):
    """The linker keeps one copy of a weak symbol: one compiled for AVX-512 would crash a machine that has none."""
    built = root / "build"
    objects = [path for path in built.rglob("*.o") if "cp3" in str(path) and "_avx" in str(path)]
    if not objects or shutil.which("nm") is None:
        pytest.skip("no objects of an x86-64 build in build/, or no nm")
    for path in objects:
        symbols = run(["nm", "-C", "--defined-only", str(path)]).splitlines()
        weak = [line for line in symbols if line.split()[1] in "WVu" and "DW.ref." not in line]
        shared = [line for line in weak if "avx2::" not in line and "avx512::" not in line]
        assert not shared, f"{path.name}: {shared[:3]}"
