"""What passes and kernels gain: which are compared, and that they come back; no time is judged."""

from __future__ import annotations

import pytest

from benchmarks.guard import Part, main, parts, selections
from ndarray_rt import config
from ndarray_rt.passes.pipeline import PASSES


def test_a_part_that_changes_a_network_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--models", "mlp", "--tries", "1", "--rounds", "1", "--bear", "1000",
                 "--parts", "fuse_post_ops", "fuse_attention"]) == 0
    _, _, head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| what | network | batch | ms with it | without | gain |"
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| nothing", "mlp", "1"], ["| pass `fuse_post_ops`", "mlp", "1"]]


def test_the_status_tells_what_does_not_pay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--models", "mlp", "--tries", "1", "--rounds", "1", "--bear", "-1000",
                 "--parts", "fuse_post_ops"]) == 1


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--models", "mlp", "--parts", "fuse_nothing"])
    assert "'fuse_nothing' is no pass and no kernel" in capsys.readouterr().err


def test_what_is_left_out_comes_back() -> None:
    known = parts()
    assert [part.name for part in known if part.kind == "pass"] == list(PASSES)
    whole = [selection.implementations for selection in selections()]
    for part in (*known, Part("kernel", whole[0][0].name)):
        with part.left_out():
            names = {way.name for selection in selections() for way in selection.implementations}
            assert part.name not in names
            assert (part.name == config.NDRT_SKIP_PASSES) == (part.kind == "pass")
    assert [selection.implementations for selection in selections()] == whole
    assert not config.NDRT_SKIP_PASSES
