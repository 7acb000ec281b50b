"""The picture: boxes apart, lines downwards, one file without anything else."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, ParameterError, TypeMismatch
from ndarray_rt.executor.explain.layers import BOX, GAP, LONGEST, place

from .test_explain import SHAPE, bind, conv_net


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 18))
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    return count, edges


@settings(max_examples=60)
@given(graphs())
def test_boxes_are_apart_and_lines_go_down(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    placed = place(count, edges)
    width, height = placed.size
    for (x, y) in placed.boxes:
        assert BOX[0] / 2 <= x <= width - BOX[0] / 2
        assert BOX[1] / 2 <= y <= height - BOX[1] / 2
    for (x0, y0), (x1, y1) in combinations(placed.boxes, 2):
        assert y0 != y1 or abs(x0 - x1) >= BOX[0] + GAP[0] - 1e-6
    for (source, target), line in zip(edges, placed.lines, strict=True):
        assert placed.boxes[source][1] < placed.boxes[target][1]
        assert line[0] == (placed.boxes[source][0], placed.boxes[source][1] + BOX[1] / 2)
        assert line[-1] == (placed.boxes[target][0], placed.boxes[target][1] - BOX[1] / 2)
        assert all(low[1] <= high[1] for low, high in pairwise(line))
        for at, to in pairwise(line):
            if at[0] == to[0]:  # straight pieces pass beside the boxes
                assert not any(abs(x - at[0]) < BOX[0] / 2 - 1e-6 and at[1] < y < to[1]
                               for x, y in placed.boxes)


def test_a_line_over_many_layers_goes_round() -> None:
    count = LONGEST + 3
    placed = place(count, [*pairwise(range(count)), (0, count - 1)])
    assert max(x for x, _ in placed.lines[-1]) > BOX[0] + GAP[0]
    assert placed.size[0] > max(x for x, _ in placed.lines[-1])


@pytest.mark.parametrize("train", [False, True])
def test_svg(tmp_path: Path, train: bool) -> None:
    found = bind(conv_net(), "write" if train else "null", data=SHAPE).explain(
        is_train=train, repeat=1)
    found.save(tmp_path / "net.svg")
    text = (tmp_path / "net.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(found.rows)
    assert "kernel: " in titles[0]
    assert text.count("<path") == len(found.edges)
    assert len(re.findall(r"\d reorders?, ", text)) == sum(bool(r.reorders) for r in found.rows)
    assert "reorder: nchw -> " in titles[0]


def test_html_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    net = mx.sym.Activation(mx.sym.Variable("data"), act_type="relu", name="a<b&c")
    bind(net, data=(2, 3)).explain(repeat=1).save(str(tmp_path / "net.html"))
    text = (tmp_path / "net.html").read_text(encoding="utf-8")
    assert "a&lt;b&amp;c" in text
    assert "a<b&c" not in text
    assert "run: " in text
    assert "<table>" in text
    assert not re.search(r"<script|src=|href=|@import|url\(http", text)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    found: Any = bind(conv_net(), data=SHAPE).explain(repeat=1)
    with pytest.raises(MXNetError, match=r"'net.png' ends in '.png', expected .svg or .html"):
        found.save(tmp_path / "net.png")


def test_what_is_no_name_of_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: Any = bind(conv_net(), data=SHAPE).explain(repeat=1)
    wrong: Any
    for wrong in (b"net.svg", 3, None):
        with pytest.raises(TypeMismatch, match=r"^explain\(\).save: path got .*, expected a str"):
            found.save(wrong)
    for wrong in ("a\0b.svg", "a\ud800b.svg", Path("a\0b.svg")):
        with pytest.raises(ParameterError, match=r"^explain\(\).save: path got 'a.*b.svg'"):
            found.save(wrong)
    with pytest.raises(FileNotFoundError, match=r"'none/net.svg'"):
        found.save("none/net.svg")
    assert list(tmp_path.iterdir()) == []
