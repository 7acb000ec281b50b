"""The package has MXNet 1.9.1's public names with their parameters, or says why not."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from . import surface

PORTING = (Path(__file__).parents[2] / "docs" / "porting.md").read_text(encoding="utf-8")
# of automatic mixed precision and int8 there is another list
ELSEWHERE = ("contrib.quantization.",)
# they are here, and do nothing but raise: as good as absent
ONLY_RAISES = ("library.load", "test_utils.rand_sparse_ndarray", "util.use_np", "util.use_np_array")
SHARE = 0.97


def patterns(title: str) -> list[str]:
    """The names in the first column of a table of docs/porting.md."""
    section = PORTING.split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    assert all(row[2].strip() for row in rows), "each has a reason"
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row[1])]


ABSENT = patterns("Names of MXNet 1.9.1 that are not here")
OTHER = patterns("Names that take other parameters")
NAMES = [name for name in surface.names() if not name.path.startswith(ELSEWHERE)]
DIFFERENCES = {name.path: surface.difference(name) for name in NAMES}
MISSING = {path for path, found in DIFFERENCES.items() if found == "absent"} | set(ONLY_RAISES)


def test_the_list_is_read() -> None:
    found = {name.path: name for name in NAMES}
    assert len(NAMES) > 1700
    assert found["gluon.trainer.Trainer.step"].parameters == (
        ("self", ""), ("batch_size", ""), ("ignore_stale_grad", "False"))
    assert found["context.Context.device_type"].kind == "property"
    assert surface.difference(found["gluon.trainer.Trainer.step"]) == ""
    other = found["gluon.trainer.Trainer.step"]._replace(parameters=(("self", ""),))
    assert "takes" in surface.difference(other)
    assert surface.difference(other._replace(path="gluon.trainer.Trainer.leap")) == "absent"


def test_how_much_is_here() -> None:
    share = 1 - len(MISSING) / len(NAMES)
    assert share >= SHARE, f"{share:.2%}"


def test_what_is_absent_is_said() -> None:
    unsaid = sorted(path for path in MISSING
                    if not any(fnmatch(path, pattern) for pattern in ABSENT))
    assert not unsaid, "docs/porting.md does not say why these are not here"


@pytest.mark.parametrize("pattern", ABSENT)
def test_what_is_said_to_be_absent_is(pattern: str) -> None:
    assert any(fnmatch(path, pattern) for path in MISSING), "it is here: take the line away"


def test_parameters() -> None:
    differing = {path: found for path, found in DIFFERENCES.items()
                 if found not in ("", "absent") and path not in ONLY_RAISES}
    assert sorted(differing) == sorted(OTHER), {
        path: found for path, found in differing.items() if path not in OTHER}
