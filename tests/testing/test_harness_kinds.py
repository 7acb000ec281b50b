"""The harness's kinds and counts: a kind that is not what its name says must be found."""

from __future__ import annotations

import numpy as np
import pytest

from ndarray_rt._array.ndarray import new_array
from ndarray_rt.op.registry import find
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.stream import Stream
from ndarray_rt.testing.case import Case, Input
from ndarray_rt.testing.checks import Bench, Failures
from ndarray_rt.testing.covering import rows, turn_of
from ndarray_rt.testing.derive import derived, known_calls
from ndarray_rt.testing.derived_checks import check_dtypes, check_shapes
from ndarray_rt.testing.executor import ExecutorBench
from ndarray_rt.testing.kind_words import PLAIN_KINDS, SPECIAL_WORDS, grouped_kind, why_not, word_of
from ndarray_rt.testing.memory_kinds import Made, contents, make
from ndarray_rt.testing.overlaps import overlapping, why_no_overlap
from ndarray_rt.testing.runtimes import OneDnnRuntime
from ndarray_rt.testing.subject import subject_of
from ndarray_rt.testing.tally import Tally

from ..case_table import all_cases
from ..combinations import LEAST, Run

STREAM = Stream()
VALUE = np.random.default_rng(0).uniform(-1, 1, (2, 20, 2, 3)).astype(np.float32)
GROUPED = grouped_kind(VALUE.shape, VALUE.dtype)
KINDS = (*PLAIN_KINDS, "reused:kept", "special:aBcd16b", "special_reused:acdb",
         "view_special:aBcd16b", "reshaped_special:acdb", GROUPED)


def made(kind: str) -> Made:
    return make(VALUE, kind, STREAM)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_what_it_says_and_holds_its_contents(kind: str) -> None:
    one = made(kind)
    one.check()
    assert contents(one, STREAM).tobytes() == VALUE.tobytes()
    one.check_after()
    one.release()
    assert one.array._chunk.pins == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if word_of(k) in SPECIAL_WORDS]
                         + ["reused:kept"])
def test_finds_a_special_kind_that_became_plain(kind: str) -> None:
    one = made(kind)
    one.array._chunk.reorder_to_default(STREAM)
    with pytest.raises(AssertionError, match="is_special is not True"):
        one.check()


def test_finds_another_layout_than_the_one_named() -> None:
    one = made("special:aBcd16b")
    one.array._chunk.reorder(tagged_desc(VALUE.dtype, VALUE.shape, "acdb"), STREAM)
    with pytest.raises(AssertionError, match="the layout is"):
        one.check()


def test_finds_a_grouped_kind_of_the_same_rank() -> None:
    one = made(GROUPED)
    one.array._chunk.reorder_to_default(STREAM)
    one.array._chunk.reorder(tagged_desc(VALUE.dtype, VALUE.shape, "acdb"), STREAM)
    with pytest.raises(AssertionError, match="the layout is"):
        one.check()


@pytest.mark.parametrize("kind", PLAIN_KINDS[1:])
def test_finds_a_kind_that_is_a_plain_array(kind: str) -> None:
    one = made(kind)
    plain = make(VALUE, "plain", STREAM)
    one.array = one.base = plain.array
    with pytest.raises(AssertionError, match=kind):
        one.check()
    one.release()


@pytest.mark.parametrize(("kind", "other"), [("reused:same", "reused"), ("reused:grown", "reused"),
                                             ("reused", "reused:grown"),
                                             ("reused:other", "reused:same")])
def test_finds_another_earlier_life(kind: str, other: str) -> None:
    one = made(kind)
    one.array = one.base = made(other).array
    with pytest.raises(AssertionError, match=f"{kind}: the earlier life"):
        one.check()


@pytest.mark.parametrize("kind", ["pinned", "pinned:read", "pinned:view"])
def test_finds_an_export_that_ended_moved_or_changed_its_flag(kind: str) -> None:
    moved = made(kind)
    moved.address += 64
    with pytest.raises(AssertionError, match="exported bytes were moved"):
        moved.check_after()
    ended = made(kind)
    ended.array._chunk.unpin(kind != "pinned:read")
    with pytest.raises(AssertionError, match="0 pins"):
        ended.check()
    ended.array._chunk.pin(kind != "pinned:read")
    flagged = made(kind)
    flagged.kind = "pinned" if kind == "pinned:read" else "pinned:read"
    with pytest.raises(AssertionError, match=r"wrong|is_view"):
        flagged.check()


def test_finds_an_export_that_no_longer_sees_the_array() -> None:
    one = made("pinned")
    kept, one.exported = one.exported, VALUE.copy()
    with pytest.raises(AssertionError, match="the export is elsewhere"):
        one.check_after()
    assert kept is not None


def test_finds_dirty_padding_and_a_layout_beyond_its_memory() -> None:
    one = made("special:aBcd16b")
    np.frombuffer(one.array._chunk.handle.buffer(), np.float32)[-1] = 1
    with pytest.raises(AssertionError, match="padding"):
        one.check_after()
    small = new_array(VALUE.shape, VALUE.dtype)
    small._check_and_alloc()
    small._chunk.mkl_mem = tagged_desc(VALUE.dtype, VALUE.shape, "aBcd16b")
    with pytest.raises(AssertionError, match="larger than the memory"):
        Made(small, small, "special:aBcd16b").check_after()


OVERLAPS = ("overlap:rows", "overlap:reused", "overlap:flat", "overlap:ends",
            "overlap:special:acdb")


@pytest.mark.parametrize("kind", OVERLAPS)
@pytest.mark.parametrize("before", [True, False])
def test_overlaps_overlap(kind: str, before: bool) -> None:
    a, b = overlapping(VALUE, VALUE, kind, before, STREAM)
    a.check()
    b.check()
    assert contents(a, STREAM).tobytes() == VALUE.tobytes()
    assert (b.array._byte_offset < a.array._byte_offset) == before


def test_finds_an_overlap_that_is_lost() -> None:
    a, b = overlapping(VALUE, VALUE, "overlap:rows", True, STREAM)
    a.partner = new_array((6, 20, 2, 3), VALUE.dtype)._rows(1, 3)
    with pytest.raises(AssertionError, match="two Chunks"):
        a.check()
    b.partner = b.array._rows(0, 2).detach()
    with pytest.raises(AssertionError, match="all shared"):
        b.check()
    apart = a.base._rows(3, 4)
    first = a.base._rows(1, 2)
    with pytest.raises(AssertionError, match="share no byte"):
        Made(first, a.base, "overlap:rows", partner=apart).check()


@pytest.mark.parametrize(("a", "b"), [((1,), (1,)), ((3,), (1,)), ((1,), (3,)), ((2, 3), (6,)),
                                      ((), (4,)), ((2,), (2,)), ((5,), (2,))])
@pytest.mark.parametrize("before", [True, False])
def test_overlaps_of_any_shapes(a: tuple[int, ...], b: tuple[int, ...], before: bool) -> None:
    x, y = np.ones(a, np.float32), np.zeros(b, np.float32)
    for kind in ("overlap:flat", "overlap:ends"):
        if why_no_overlap(kind, x, y) is None:
            for one in overlapping(x, y, kind, before, STREAM):
                one.check()


def test_zero_size_and_rank_0_have_their_reasons() -> None:
    f32 = np.dtype(np.float32)
    assert "without elements" in str(why_not("special:ba", (0, 3), f32))
    assert "rank 1" in str(why_not("special:None", (4,), f32))
    assert "float64" in str(why_not("special:ba", (2, 3), np.dtype(np.float64)))
    assert "size 1" in str(why_not("special:ba", (1, 3), f32))
    for shape in ((), (0,), (2, 0, 3), (1,) * 12):
        for kind in PLAIN_KINDS:
            if why_not(kind, shape, f32) is None:
                one = make(np.ones(shape, f32), kind, STREAM)
                one.check()
                one.check_after()
                one.release()


def test_the_covering_meets_every_pair() -> None:
    for ins, outs, turn in ((22, 18, 5), (3, 18, 77), (22, 1, 3), (1, 1, 0)):
        met = list(rows(ins, outs, 4, turn))
        assert {(i, r) for i, _, r in met} == {(i, r) for i in range(ins) for r in range(4)}
        assert {(o, r) for _, o, r in met} == {(o, r) for o in range(outs) for r in range(4)}
        assert len(met) == 4 * max(ins, outs)
    met_io = {(i, o) for turn in range(60) for i, o, _ in rows(20, 18, 4, turn)}
    assert len(met_io) == 20 * 18
    assert turn_of("a", (2, 3)) == turn_of("a", (2, 3)) != turn_of("a", (2, 4))


def test_a_call_meets_all_kinds() -> None:
    case = next(c for c in all_cases() if c.op == "Convolution" and c.params.get("num_group") == 2)
    subject = subject_of(case, "float32")
    met = {word_of(kind) for combo in subject.kinds_of_inputs() for kind in combo}
    assert met >= {"plain", "view", "reshaped", "nested", "reused", "reused_view", "pinned",
                   "special", "special_reused", "view_special", "reshaped_special", "grouped"}
    assert {word_of(kind) for kind in subject.kinds_of_outputs()} >= met


def test_what_can_not_be_is_counted_with_its_reason() -> None:
    failures = Failures()
    runtime = OneDnnRuntime(False)
    subject = subject_of(Case("relu", {}, [(5,)], reference=lambda x: np.maximum(x, 0)), "float32")
    Bench(subject, runtime).check_kinds(failures)
    runtime.close()
    assert any("rank 1 has no special layout" in why for why in failures.tally.skipped)
    assert failures.count == failures.tally.executed.total() > 40


def test_finds_a_run_that_forgets_its_output() -> None:
    case = Case("relu", {}, [(2, 20, 3, 2)], reference=lambda x: np.maximum(x, 0), native=True)
    subject = subject_of(case, "float32")
    bench = ExecutorBench(case, subject)
    failures = Failures()
    bench.check_forward(failures)
    assert failures.found == []
    bench.other = (list(subject.values), [w + 1 for w in subject.want if w is not None])
    bench.check_forward(failures)
    assert failures.found
    assert all("for other inputs" in text for text in failures.found)


def test_probes_decide_what_an_operator_bears() -> None:
    def answers(case: Case) -> dict[str, Case | str]:
        return dict(derived(case))
    relu = answers(Case("relu", {}, [(2, 3)]))
    assert {"rank 0", "rank 12", "empty of rank 3", "axis 0 empty"} <= {
        name for name, made in relu.items() if isinstance(made, Case)}
    conv = answers(Case("Convolution", {"kernel": (3, 3), "num_filter": 4},
                        [(2, 3, 5, 5), Input((4, 3, 3, 3), weight_groups=1), (4,)]))
    assert isinstance(conv["rank 2"], str)
    assert "expected rank" in conv["rank 2"]
    empty = conv["axis 0 empty"]
    assert isinstance(empty, Case)
    assert [i.shape for i in empty.all_inputs()] == [(0, 3, 5, 5), (4, 3, 3, 3), (4,)]


def test_every_operator_of_the_table_is_probed() -> None:
    probed = {find(case.op).name for case in known_calls(all_cases())}
    assert probed == {find(case.op).name for case in all_cases() if case.inputs}


def test_derived_checks_find_a_wrong_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    import ndarray_rt.testing.derived_checks as module
    case = Case("relu", {}, [(2, 3)], reference=lambda x: np.maximum(x, 0))
    right = module.truth

    def wrong(subject: object) -> str | None:
        reason = right(subject)  # type: ignore[arg-type]
        subject.want = [w + 1 for w in subject.want]  # type: ignore[attr-defined]
        return reason
    monkeypatch.setattr(module, "truth", wrong)
    shapes, dtypes = Failures(), Failures()
    check_shapes(case, shapes)
    check_dtypes(case, dtypes)
    assert shapes.found
    assert dtypes.found


def whole_run(executed: int, skipped: int, tests: int = 2, of: int = 2) -> Run:
    run = Run()
    for i in range(tests):
        tally = Tally()
        tally.meet(f"part {i}")
        tally.executed["x"] += executed // 2
        tally.skip("why", skipped // 2)
        run.add(f"tests/test_ops.py::t[{i}]", [("combinations", tally.as_dict()),
                                               ("tests of test_ops.py", of)])
    run.add("tests/test_other.py::t", [("combinations", Tally().as_dict())])
    return run


def test_a_whole_run_that_executes_too_little_is_found() -> None:
    met = {"part 0", "part 1"}
    for tier, least in LEAST.items():
        good = whole_run(2 * least, 100)
        assert good.is_whole(["tests"])
        assert good.complaints(tier, met) == []
        assert "only" in whole_run(least - 2, 0).complaints(tier, met)[0]
        assert "expected 90%" in whole_run(least, least).complaints(tier, met)[0]
        missed, = good.complaints(tier, {*met, "relu on numpy"})
        assert missed == "1 of what each run must meet were not: relu on numpy"
    assert whole_run(0, 0).complaints("rest") == []
    assert "99.9%" in whole_run(100_000, 100).tally.summary()[0]
    assert not whole_run(10, 0, tests=1).is_whole(["tests"])
    assert not whole_run(10, 0).is_whole(["tests/test_ops.py::t"])
    assert not Run().is_whole(["tests"])
