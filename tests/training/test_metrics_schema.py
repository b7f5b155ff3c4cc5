"""The columns of metrics.csv are those that the docs describe."""

import re

import pytest

pytest.importorskip("torch")
from pic_uie.training.config import LossWeights
from pic_uie.training.validation import Quality


def test_every_column_is_documented(root):
    text = (root / "docs/training.md").read_text()
    table = text[text.index("| column | what |") :].split("\n\n")[0]
    documented = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    losses = {f"loss_{name}" for name in (*LossWeights.__dataclass_fields__, "total")}
    assert documented == {"epoch", "learning_rate", "seconds"} | losses | set(Quality._fields)
