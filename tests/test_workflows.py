"""The workflows cannot run here; what can be checked is that they are pinned and only call what the Makefile has."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def steps(path):
    document = yaml.safe_load(path.read_text())
    return [step for job in document["jobs"].values() for step in job["steps"]]


def test_there_are_some():
    assert {"tests.yml", "wheels.yml", "pages.yml"} <= {path.name for path in WORKFLOWS}
    assert {"test", "wheel", "wheels", "wasm", "page"} <= TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_is_in_the_makefile(path):
    for step in steps(path):
        for line in step.get("run", "").splitlines():
            words = line.split()
            assert words[0] == "make", line
            assert set(words[1:]) <= TARGETS, line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_hash(path):
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_nothing_may_write_but_what_says_so(path):
    document = yaml.safe_load(path.read_text())
    assert document["permissions"] == {"contents": "read"}
    for name, job in document["jobs"].items():
        writes = {what for what, access in job.get("permissions", {}).items() if access == "write"}
        assert writes <= ({"id-token", "pages"} if name in ("publish", "deploy") else set()), name
