"""The code of the pages runs as it stands; what is public of testing is named there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndarray_rt import testing
from ndarray_rt.executor import clear_tuning
from ndarray_rt.op.registry import REGISTRY

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture
def _operators_stay() -> Iterator[None]:
    """Operators that an example registers are taken away again."""
    before = {op.name for op in REGISTRY.ops()}
    yield
    for op in REGISTRY.ops():
        if op.name not in before:
            REGISTRY.unregister(op.name)


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 7


@pytest.mark.usefixtures("_operators_stay")
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_examples_run(number: int) -> None:
    exec(compile(BLOCKS[number], f"docs/testing.md block {number}", "exec"), {"__name__": "doc"})


@pytest.mark.usefixtures("_operators_stay")
def test_an_operator_of_ones_own() -> None:
    text = (DOCS / "own_operators.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    exec(compile(code, "docs/own_operators.md", "exec"), {"__name__": "__main__"})
    assert "my_half" not in REGISTRY


@pytest.mark.parametrize("page", ["nonfinite", "executor", "cached_op"])
def test_a_page_from_top_to_bottom(
        page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    assert code
    try:
        exec(compile(code, f"docs/{page}.md", "exec"), {"__name__": "__main__"})
    finally:
        clear_tuning()


@pytest.mark.parametrize("name", ["check_operator", "check_gradient", "check_consistency",
                                  "check_layout_round_trip", "shapes", "layouts", "kinds",
                                  "requests", "ndarrays", "kinds_of", "layouts_of", "Case",
                                  "Input", "Report"])
def test_public_names_are_documented(name: str) -> None:
    assert name in testing.__all__
    assert f"`{name}" in TEXT or f"## {name}" in TEXT, f"docs/testing.md does not tell of {name}"
    assert getattr(testing, name).__doc__
