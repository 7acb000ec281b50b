"""The pages about files and the command line run from top to bottom."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import ndarray_rt as mx
from ndarray_rt.cli import main
from ndarray_rt.executor import clear_tuning

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.S)


@pytest.mark.parametrize("page", ["files", "command-line"])
def test_a_page_from_top_to_bottom(page: str, tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    threads = mx.get_num_threads()
    names = {"__name__": "__main__"}
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert blocks
    try:
        for language, text in blocks:
            if language == "python":
                exec(compile(text, f"docs/{page}.md", "exec"), names)
                continue
            for line in text.splitlines():
                program, *argv = shlex.split(line)
                assert program == "ndarray-rt"
                assert main.main(argv) == 0, line
    finally:
        clear_tuning()
        mx.set_num_threads(threads)


def test_every_command_and_option_is_documented() -> None:
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    for module in main.COMMANDS:
        assert f"| `{module.NAME}` |" in text
    options = set(re.findall(r"--[a-z][a-z-]+", main.parser().format_help()))
    for module in main.COMMANDS:
        options |= set(re.findall(r"--[a-z][a-z-]+", _help(module.NAME)))
    for option in options - {"--help"}:
        assert option in text or option == "--tolerance", option


def _help(name: str) -> str:
    commands = main.parser()._subparsers
    assert commands is not None
    found: str = commands._group_actions[0].choices[name].format_help()  # type: ignore[index]
    return found
