"""Builds the C++ core and the training kernels without Python; their own tests run under sanitizers and elsewhere."""

import os
import shutil
import subprocess
import sys

import pytest

from pic_uie.enhancer import instruction_sets

SHORT = "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -g1", "-DPIC_UIE_KERNEL_OPTIMISATION=-O1"
UNITY = "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0"  # the package itself compiles each file alone
CLANG = next((name for name in ("clang++", *(f"clang++-{n}" for n in range(22, 13, -1))) if shutil.which(name)), None)
ROUNDS = {"native_tests": 20, "training_tests": 6}


def build(root, name, *options, targets=tuple(ROUNDS)):
    """Returns the folder of the executables; it stays, so that only what changed is built again."""
    folder = root / "build" / f"native-tests-{name}"
    cmake = tool("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed: pip install cmake")
    run([cmake, "-S", str(root / "tests" / "native"), "-B", str(folder), "-DPIC_UIE_WERROR=ON", *UNITY, *options])
    run([cmake, "--build", str(folder), "--target", *targets, "--parallel", "2"])
    return folder


def tool(name):
    """Finds a program, first beside the interpreter: the test extra installs cmake there."""
    return shutil.which(name, path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))


def run(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_tests(folder, *before, which=tuple(ROUNDS), suffix="", divisor=1, **environment):
    for tests in which:
        output = run([*before, str(folder / f"{tests}{suffix}"), str(ROUNDS[tests] // divisor), "1"], **environment)
        assert "rounds passed" in output


def can_sanitize(compiler, sanitizer, folder):
    source = folder / "probe.cpp"
    source.write_text("int main() {}")
    command = [compiler, f"-fsanitize={sanitizer}", str(source), "-o", str(folder / "probe")]
    return (
        subprocess.run(command, capture_output=True, check=False).returncode == 0
        and subprocess.run([str(folder / "probe")], capture_output=True, check=False).returncode == 0
    )


def sanitized(root, tmp_path, compiler, sanitizer, *options, **running):
    if compiler is None:
        pytest.skip("g++ and clang++ are not installed: apt install g++ clang")
    if not can_sanitize(compiler, sanitizer, tmp_path):
        pytest.skip(f"{compiler} has no {sanitizer} sanitizer: apt install libclang-rt-dev for clang's")
    options = f"-DSANITIZE={sanitizer}", f"-DCMAKE_CXX_COMPILER={compiler}", *options, *SHORT
    folder = build(root, f"{os.path.basename(compiler)}-{sanitizer.replace(',', '-')}", *options)
    run_tests(folder, **running)


def test_every_instruction_set_keeps_to_its_memory(root, tmp_path):
    sanitized(root, tmp_path, CLANG or shutil.which("g++"), "address", ASAN_OPTIONS="detect_leaks=0")


@pytest.mark.parametrize("sanitizer", ["undefined", "thread"])
def test_nothing_is_undefined_and_nothing_races(sanitizer, root, tmp_path):
    """In one instruction set, to save time."""
    one = ["-DPIC_UIE_ONLY=avx2"] if "avx2" in instruction_sets() else []
    divisor = 3 if sanitizer == "thread" else 1
    sanitized(root, tmp_path, CLANG or shutil.which("g++"), sanitizer, *one, divisor=divisor)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_on_aarch64(compiler, root):
    needed = ["aarch64-linux-gnu-g++", "qemu-aarch64"]
    missing = [name for name in needed if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: apt install g++-aarch64-linux-gnu qemu-user")
    if compiler == "clang++" and CLANG is None:
        pytest.skip("clang++ is not installed: apt install clang")
    target = {
        "g++": [f"-DCMAKE_CXX_COMPILER={needed[0]}"],
        "clang++": [f"-DCMAKE_CXX_COMPILER={CLANG}", "-DCMAKE_CXX_COMPILER_TARGET=aarch64-linux-gnu"],
    }[compiler]
    system = "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_EXE_LINKER_FLAGS=-static"
    which = ROUNDS if compiler == "g++" else ["native_tests"]  # training has been compiled by both on x86-64
    folder = build(root, f"{compiler}-aarch64", *target, *system, *SHORT[:2], targets=which)
    for tests in which:
        assert "neon: 3 rounds passed" in run([needed[1], str(folder / tests), "3", "2"])


def test_on_windows(root, tmp_path):
    compiler = shutil.which("x86_64-w64-mingw32-g++-posix")
    wine = shutil.which("wine")
    if compiler is None or wine is None:
        pytest.skip("mingw-w64 or wine is not installed: apt install g++-mingw-w64-x86-64-posix wine")
    system = "-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_SYSTEM_PROCESSOR=AMD64", "-DCMAKE_EXE_LINKER_FLAGS=-static"
    folder = build(root, "windows", f"-DCMAKE_CXX_COMPILER={compiler}", *system, *SHORT, targets=["native_tests"])
    quiet = {"WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    run_tests(folder, wine, which=["native_tests"], suffix=".exe", **quiet)
    theirs = run([wine, str(folder / "native_tests.exe"), "2", "3", "digest"], **quiet)
    plain = build(root, "plain", *SHORT, "-DPIC_UIE_ONLY=baseline", targets=["native_tests"])
    ours = run([str(plain / "native_tests"), "2", "3", "digest"])
    baseline = [line for line in ours.splitlines() if line.startswith("baseline digest")]
    assert baseline
    assert baseline[0] in theirs.replace("\r", "").splitlines()


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
