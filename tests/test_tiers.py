"""Tiers lose no test: what `make test` does not run is listed, and other runs have it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ndarray_rt.op.registry import find
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.failures import CHOSEN, CombinationsFail, Failures
from ndarray_rt.testing.operator import run_forward

from . import repeat
from .case_table import all_cases, unique_ids
from .tiers import MANY, Share, operator_of, seed_of_today, select

TESTS = Path(__file__).parent
CASES = all_cases()
EVERYTHING = Share()


class Item:
    """As much of a collected test as tiers look at."""

    def __init__(self, nodeid: str, params: dict[str, Any] | None = None, mark: str = "",
                 *args: Any) -> None:
        self.nodeid = nodeid
        if params is not None:
            self.callspec = SimpleNamespace(params=params)
        self._marks = {mark: SimpleNamespace(args=args)}

    def get_closest_marker(self, name: str) -> Any:
        return self._marks.get(name)

    def __repr__(self) -> str:
        return self.nodeid


def operator_items() -> list[Any]:
    return [Item(f"tests/test_x.py::test_forward[{runtime}-{name}]",
                 {"case": case, "runtime": runtime})
            for case, name in zip(CASES, unique_ids(CASES), strict=True)
            for runtime in ("numpy", "native")]


def others() -> list[Any]:
    return [
        Item("tests/test_x.py::test_plain"),
        *(Item(f"tests/test_x.py::test_numbers[{i}]", {"i": i}) for i in range(3 * MANY)),
        *(Item(f"tests/test_x.py::test_long[{i}]", {"i": i}, "slow", "why") for i in range(5)),
        *(Item(f"tests/test_x.py::test_rules[{i}]", {"i": i}, "sampled", 2, "why")
          for i in range(9)),
    ]


def test_the_sample_has_each_operator_with_each_other_parameter() -> None:
    items = operator_items()
    sample: Any
    wanted = {(find(case.op).name, runtime) for case in CASES for runtime in ("numpy", "native")}
    samples = [select(items, "test", seed, EVERYTHING).taken for seed in range(3)]
    for sample in samples:
        assert {(find(item.callspec.params["case"].op).name, item.callspec.params["runtime"])
                for item in sample} == wanted
        assert len(sample) == len(wanted) < len(items) / 2
    assert set(samples[0]) != set(samples[1]) != set(samples[2])
    assert select(items, "test", 1, EVERYTHING).taken == samples[1]


def test_what_names_no_operator_is_taken_unless_it_is_marked() -> None:
    taken = select(others(), "test", 7, EVERYTHING).taken
    by_function = [str(item).partition("[")[0].rpartition("::")[2] for item in taken]
    assert by_function.count("test_plain") == 1
    assert by_function.count("test_numbers") == 3 * MANY
    assert by_function.count("test_long") == 0
    assert by_function.count("test_rules") == 2


def test_shares_are_the_rest_and_nothing_twice() -> None:
    items = [*operator_items(), *others()]
    test = set(select(items, "test", 5, EVERYTHING).taken)
    shares = [select(items, "rest", 5, Share(k, 7)).taken for k in range(7)]
    rest = [item for share in shares for item in share]
    assert len(rest) == len(set(rest))
    assert set(rest) == set(items) - test == set(select(items, "rest", 5, EVERYTHING).taken)
    assert max(map(len, shares)) < 1.3 * min(map(len, shares))
    assert [sum("test_long" in str(item) for item in share) for share in shares] == [
        1, 1, 1, 1, 1, 0, 0]


def test_as_many_days_as_there_are_shares_run_everything() -> None:
    items = [*operator_items(), *others()]
    ran = {item for day in range(11)
           for tier in ("test", "rest")
           for item in select(items, tier, 20240101 + day, Share((4 + day) % 11, 11)).taken}
    assert ran == set(items)


def test_the_whole_has_everything() -> None:
    items = [*operator_items(), *others()]
    assert select(items, "all", 5, EVERYTHING).taken == items


def test_operators_are_found_in_parameters() -> None:
    assert operator_of(Case("relu", {}, [(2,)])) == "relu"
    assert operator_of(find("Convolution")) == "Convolution"
    assert operator_of("Convolution") == operator_of("Convolution-2x3-a=1") == "Convolution"
    assert operator_of("other") is operator_of(3) is operator_of(None) is None


def test_shares_and_seeds_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Share.parse("3/14") == Share(3, 14)
    assert Share.parse("16/14") == Share(2, 14)
    assert Share.parse("today/14").n == 14
    for wrong in ("3", "3/0", "x/3", "/", "today/x"):
        with pytest.raises(pytest.UsageError):
            Share.parse(wrong)
    monkeypatch.setenv("NDRT_TEST_SEED", "12")
    assert seed_of_today() == 12
    monkeypatch.delenv("NDRT_TEST_SEED")
    assert re.fullmatch(r"20\d{6}", str(seed_of_today()))


def marked() -> Iterator[tuple[str, str, str]]:
    """(test function, mark, reason) of all tests that `make test` has not, or not all of."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in ("slow", "sampled") and ast.unparse(node.func) == (
                    f"pytest.mark.{node.func.attr}"):
                *numbers, reason = [ast.literal_eval(arg) for arg in node.args]
                name = f"{path.relative_to(TESTS.parent)}"
                yield name, " ".join([node.func.attr, *map(str, numbers)]), reason


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    text = (TESTS.parent / "docs" / "testing.md").read_text(encoding="utf-8")
    section = text.partition("## Tiers\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(tests/[^`]+)` \| ([^|]+) \| (.+) \|$", section, re.MULTILINE)
    assert sorted(listed) == sorted(marked())


def test_a_failing_combination_is_named_and_can_be_run_alone(
        monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("relu", {}, [(2, 20, 3, 2)], reference=lambda x: x + 1)
    with pytest.raises(CombinationsFail) as caught:
        run_forward(case, "numpy")
    nodeid = "tests/test_ops.py::test_forward[numpy-relu-2x20x3x2]"
    command, *others = repeat.commands(nodeid, caught.value, ["--tier=test"])
    assert len(others) == repeat.SHOWN - 1
    assert command.startswith("python -m pytest 'tests/test_ops.py::test_forward[numpy-relu-")
    assert "--tier=test --combo=" in command
    assert repeat.commands("tests/a.py::b", None) == ["python -m pytest tests/a.py::b"]
    monkeypatch.setattr(CHOSEN, "parts", (caught.value.combinations[-1],))
    with pytest.raises(CombinationsFail, match="1 of 1 combinations fail"):
        run_forward(case, "numpy")


def test_an_error_in_a_combination_names_it_too() -> None:
    failures = Failures()
    with pytest.raises(CombinationsFail) as caught, failures.trying("view -> plain"):
        raise ValueError("no")
    assert repeat.commands("t", caught.value)[0].endswith(" --combo='view -> plain'")


def test_a_combo_is_a_part_of_a_name_and_parts_of_a_combination() -> None:
    names = ["tests/test_ops.py::test_forward[numpy-Convolution-2x3]"]
    assert repeat.split_combo("convolution|view|add", names) == ("convolution", ("view", "add"))
    assert repeat.split_combo("view -> plain, kAddTo", names) == (
        "", ("view -> plain, kAddTo",))
    assert repeat.split_combo("view|kAddTo", names) == ("", ("view", "kAddTo"))
