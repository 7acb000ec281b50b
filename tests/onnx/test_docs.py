"""The code of docs/onnx.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ndarray_rt.executor import clear_tuning

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 4
    names: dict[str, Any] = {"__name__": "doc"}
    try:
        for number, block in enumerate(blocks):
            exec(compile(block, f"docs/onnx.md block {number}", "exec"), names)
    finally:
        clear_tuning()
