"""The map of the code says what is there: floors, files, invariants, words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .test_floors import FLOORS, REPOSITORY

ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCES = [path for folder, pattern in (("ndarray_rt", "*.py"), ("native", "*.[ch]"),
                                        ("include", "*.h"), ("tests", "*.py"))
           for path in (REPOSITORY / folder).rglob(pattern)]
INVARIANT = re.compile(r"\(I(\d+)(?:, I(\d+))*\)")
# what the text calls by its path: names with a slash or an ending
PATHS = sorted(set(re.findall(r"`((?:tests|ndarray_rt|native|include|examples|docs)/[\w./]+)`",
                              ARCHITECTURE + CONTRIBUTING)))
LINKS = [(name, link) for name, text in (("docs", ARCHITECTURE), ("", CONTRIBUTING))
         for link in re.findall(r"\]\(([\w./]+)(?:#\w+)?\)", text)]


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert (REPOSITORY / path).exists()


@pytest.mark.parametrize(("folder", "link"), LINKS)
def test_links_exist(folder: str, link: str) -> None:
    assert (REPOSITORY / folder / link).exists()


def test_every_floor_is_on_the_map() -> None:
    for name in FLOORS:
        # the compiled module is native/
        assert name == "_native" or re.search(rf"`{name}(\.py|/)", ARCHITECTURE), (
            f"docs/architecture.md does not tell of {name}")


def test_every_invariant_that_code_names_is_on_the_map() -> None:
    rows = set(map(int, re.findall(r"^\| I(\d+) \|", ARCHITECTURE, re.MULTILINE)))
    assert rows == set(range(1, 12))
    named = {int(number) for path in SOURCES
             for found in INVARIANT.findall(path.read_text(encoding="utf-8"))
             for number in found if number}
    assert named
    assert named <= rows


def test_no_comment_cites_a_text_that_is_not_here() -> None:
    citing = [path for path in SOURCES
              if path != Path(__file__) and "DESIGN" in path.read_text(encoding="utf-8")]
    assert not citing, "cite docs/architecture.md"
