"""requirements/ locks what pyproject.toml asks for, by version and hash; `make lock` writes it anew."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {"run": (), "test": ("train", "test"), "dev": ("dev",)}
NOT_LOCKED = {"torch"}  # constraints.txt says why


def wanted(extras):
    """Yields what the project and these extras ask for, with the extras that they ask for in turn."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    for requirement in map(Requirement, lines):
        if requirement.name == PROJECT["name"]:
            yield from wanted(requirement.extras)
        elif canonicalize_name(requirement.name) not in NOT_LOCKED:
            yield requirement


def locked(name):
    """Returns the version of each package in a file of requirements/, and checks that each has a hash."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    versions = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            package, version = re.match(r"([\w.-]+)==([\w.]+)", line).groups()
            assert "--hash=sha256:" in line, package
            versions.setdefault(canonicalize_name(package), []).append(version)
    return versions


@pytest.mark.parametrize("name", EXTRAS)
def test_the_lock_has_what_the_project_asks_for(name):
    versions = locked(name)
    for requirement in wanted(EXTRAS[name]):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement} is not locked: run `make lock`"
        assert all(requirement.specifier.contains(version) for version in found), f"{requirement}: run `make lock`"


def test_the_files_agree():
    """What is installed for the tests, or for working on it, is what a user's installation was tested with."""
    run = locked("run")
    for name in ("test", "dev"):
        versions = locked(name)
        assert {package: versions.get(package) for package in run} == run, f"{name}.txt: run `make lock`"


def test_no_file_names_a_host():
    for path in (*(ROOT / "requirements").iterdir(), ROOT / "constraints.txt"):
        assert "://" not in path.read_text(encoding="utf-8"), path.name


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == PROJECT["version"]
