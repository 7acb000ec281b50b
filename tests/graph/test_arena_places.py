"""Places in the arena: nothing overlaps, several threads need no more memory, and each half of the
threads writes where it wrote before."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.executor.memory import places as arena_places
from ndarray_rt.executor.memory.places import (
    WASTE,
    WORK_ALWAYS,
    fragmentation_of,
    most_alive,
    place,
    place_as,
)
from ndarray_rt.executor.program.plan import Storage, any_overlap

KB = 1 << 10


@st.composite
def lives(draw: st.DrawFn, teams: int = 0) -> list[Storage]:
    made = []
    for _ in range(draw(st.integers(0, 30))):
        born = draw(st.integers(0, 20))
        nbytes = draw(st.one_of(st.integers(1, 63).map(lambda n: n * 64),
                                st.integers(1, 300).map(lambda n: n * 4096)))
        team = draw(st.integers(-1, teams - 1))
        lane = draw(st.integers(0, 2)) if team >= 0 else -1
        # numbers of teams need not be all there
        made.append(Storage(nbytes, born, born + draw(st.integers(0, 6)), team=7 * team
                            if team > 0 else team, lane=lane))
    return made


def fresh(storages: list[Storage]) -> list[Storage]:
    return [Storage(s.nbytes, s.born, s.dies, team=s.team, lane=s.lane) for s in storages]


def placed(storages: list[Storage], threads: int) -> list[Storage]:
    made = fresh(storages)
    place(made, threads)
    return made


def top(storages: list[Storage]) -> int:
    return max((s.offset + s.nbytes for s in storages), default=0)


def meet(a: Storage, b: Storage) -> bool:
    """Both live at one time; lanes of a team run at once."""
    return (a.dies >= b.born and b.dies >= a.born) or (
        a.team >= 0 and a.team == b.team and a.lane != b.lane)


def check_apart(storages: list[Storage]) -> None:
    for i, a in enumerate(storages):
        assert a.offset >= 0
        assert a.offset % 64 == 0
        assert not any(meet(a, b) and a.overlaps(b) for b in storages[:i])


@settings(max_examples=200, deadline=None)
@given(lives(teams=3))
def test_nothing_overlaps_and_the_arena_does_not_grow(storages: list[Storage]) -> None:
    one, two = placed(storages, 1), placed(storages, 2)
    check_apart(one)
    check_apart(two)
    assert top(two) <= top(one)


@settings(max_examples=200, deadline=None)
@given(lives(teams=3))
def test_each_lies_as_low_as_larger_ones_allow(storages: list[Storage]) -> None:
    """What the places are, said by comparing all with all."""
    made = fresh(storages)
    done: list[Storage] = []
    for one in sorted(made, key=lambda s: (-s.nbytes, s.born)):
        rivals = [other for other in done if meet(one, other)]
        for offset in sorted({0, *(other.offset + other.nbytes for other in rivals)}):
            one.offset = offset
            if not any(one.overlaps(other) for other in rivals):
                break
        done.append(one)
    assert [s.offset for s in placed(storages, 1)] == [s.offset for s in made]


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for gaps always takes too long."""
    monkeypatch.setattr(arena_places, "WORK_ALWAYS", 0)
    monkeypatch.setattr(arena_places, "WORK_EACH", 0)


@pytest.mark.usefixtures("no_time")
@settings(max_examples=200, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lives(teams=3))
def test_nothing_overlaps_where_there_is_no_time_for_gaps(storages: list[Storage]) -> None:
    one, two = placed(storages, 1), placed(storages, 2)
    check_apart(one)
    check_apart(two)
    assert top(two) <= top(one) <= sum(s.nbytes for s in storages)


Lives = list[tuple[int, int, int]]


def chain(n: int, sizes: list[int], random: Random) -> Lives:
    """What forward makes is kept for backward, or not; backward's values live shortly."""
    made = []
    for i in range(n // 2):
        nbytes = random.choice(sizes)
        made.append((nbytes, i, n - i if i % 3 else i + random.randrange(1, 4)))
        made.append((nbytes, n - i, n - i + random.randrange(1, 4)))
    return made


def fan_out(n: int, sizes: list[int], random: Random) -> Lives:
    return [(random.choice(sizes), i, n) for i in range(n)]


def queue(n: int, sizes: list[int], random: Random) -> Lives:
    return [(random.choice(sizes), i, n + i) for i in range(n)]


def concatenations(n: int, sizes: list[int], random: Random) -> Lives:
    """Each node joins all before it, and its gradient is taken apart again."""
    nodes = int((2 * n) ** 0.5)
    made = []
    for k in range(nodes):
        made.append((sizes[0] * (k + 1), k, 2 * nodes - k))
        made += [(sizes[0], 2 * nodes - k, 2 * nodes - j) for j in range(k)]
    return made


def of_all_lengths(n: int, sizes: list[int], random: Random) -> Lives:
    born = [random.randrange(n) for _ in range(n)]
    return [(random.choice(sizes), b, min(n, b + int(n ** random.random()))) for b in born]


@pytest.mark.parametrize("sizes", [[64], [64 * 4 ** i for i in range(8)],
                                   [64 * i for i in range(1, 400)]], ids=["one", "powers", "many"])
@pytest.mark.parametrize("graph", [chain, fan_out, queue, concatenations, of_all_lengths])
def test_work_grows_with_n_log_n_and_memory_stays_low(graph: Callable[..., Lives],
                                                      sizes: list[int]) -> None:
    for n in (500, 12000):
        storages = [Storage(*life) for life in graph(n, sizes, Random(n))]
        n_log_n = len(storages) * len(storages).bit_length()
        assert place(storages, 2) <= 2 * WORK_ALWAYS + 64 * n_log_n
        assert fragmentation_of(storages) <= 1.05
        check_apart_in_time(storages)


def check_apart_in_time(storages: list[Storage]) -> None:
    """`check_apart` for many: what lives at a time, in order of its places."""
    events = sorted([(s.born, 1, i) for i, s in enumerate(storages)]
                    + [(s.dies + 1, 0, i) for i, s in enumerate(storages)])
    alive: list[tuple[int, int]] = []
    for _, begins, i in events:
        span = storages[i].offset, storages[i].offset + storages[i].nbytes
        at = bisect(alive, span)
        if not begins:
            del alive[at - 1]
            continue
        assert at == 0 or alive[at - 1][1] <= span[0]
        assert at == len(alive) or span[1] <= alive[at][0]
        alive.insert(at, span)


@given(lives(), st.integers(0, 30))
def test_any_overlap_is_what_comparing_all_with_all_says(storages: list[Storage], many: int,
                                                         ) -> None:
    for i, one in enumerate(storages):
        one.offset = one.nbytes * i % 5 * 64
    some, others = storages[:many], storages[many:]
    assert any_overlap(some, others) == any(a.overlaps(b) for a in some for b in others)


def scaled(storages: list[Storage], grown: int, from_: int = 1) -> list[Storage]:
    """The same for another batch, not placed yet: those of a page or more fill whole pages."""
    made = []
    for s in storages:
        used = max(1, s.used * grown // from_)
        unit = 4096 if used >= 4096 else 64
        made.append(Storage(-(-used // unit) * unit, s.born, s.dies, used=used))
    return made


def check_places(storages: list[Storage]) -> None:
    assert all(s.nbytes >= s.used for s in storages)
    check_apart(storages)


@settings(max_examples=200, deadline=None)
@given(lives(), st.integers(1, 4), st.sampled_from([(1, 2), (2, 1), (1, 16), (3, 2), (16, 1)]))
def test_places_serve_another_batch(storages: list[Storage], threads: int,
                                    batches: tuple[int, int]) -> None:
    """Scaled from one batch to the other; where that can not be, nothing has changed."""
    first, second = batches
    before = scaled(storages_of_one(storages), first)
    place(before, threads)
    now = scaled(storages_of_one(storages), second)
    own = scaled(storages_of_one(storages), second)
    place(own, threads)
    if not place_as(before, now, fragmentation_of(before)):
        assert [(s.offset, s.nbytes) for s in now] == [
            (s.offset, s.nbytes) for s in scaled(storages_of_one(storages), second)]
        return
    check_places(now)
    assert all(s.offset * first == then.offset * second
               for s, then in zip(now, before, strict=True))
    assert top(now) <= WASTE * fragmentation_of(before) * most_alive(own)


def storages_of_one(storages: list[Storage]) -> list[Storage]:
    return [Storage(s.nbytes, s.born, s.dies, used=s.nbytes) for s in storages]


def test_twice_the_batch_takes_the_places_and_half_of_it_too() -> None:
    one = storages_of_one([Storage(40 * KB, 0, 1), Storage(80 * KB, 1, 2), Storage(40 * KB, 2, 3)])
    place(one, 1)
    two = scaled(one, 2)
    assert place_as(one, two, 1.0)
    assert [s.offset for s in two] == [2 * s.offset for s in one]
    again = scaled(two, 1, 2)
    assert place_as(two, again, 1.0)
    assert [s.offset for s in again] == [s.offset for s in one]


def test_places_of_other_lives_or_sizes_do_not_serve() -> None:
    one = storages_of_one([Storage(40 * KB, 0, 1), Storage(80 * KB, 1, 2)])
    place(one, 1)
    assert not place_as(one, scaled(one, 2)[:1], 9.0)
    assert not place_as([], [], 9.0)
    later = scaled(one, 2)
    later[1].born = 2
    assert not place_as(one, later, 9.0)
    wider = scaled(one, 2)
    wider[0].used = wider[0].nbytes = 100 * KB
    assert not place_as(one, wider, 9.0)
    assert not any(s.offset for s in (*later, *wider))


def test_places_that_would_be_waste_do_not_serve() -> None:
    """One of two that live at once shrank to nothing, the other one stays behind its place."""
    before = storages_of_one([Storage(48 * KB, 0, 1), Storage(48 * KB, 0, 1),
                              Storage(60 * KB, 2, 3)])
    place(before, 1)
    assert place_as(before, scaled(before, 1), fragmentation_of(before))
    now = scaled(before, 1)
    lower = min(now[:2], key=lambda s: before[now.index(s)].offset)
    lower.used = lower.nbytes = 64
    assert not place_as(before, now, fragmentation_of(before))


@pytest.mark.parametrize("batches", [(2, 64, 1024), range(2, 40)])
def test_a_chain_of_reshapes_takes_no_more_than_binding_anew(batches: Iterable[int]) -> None:
    """What rounding to pages added for one sample is not scaled, nor does the waste of each step
    add up: `kept` has one size, so that what lives beside it grows apart from it."""
    y, kept = mx.sym.Variable("data"), mx.sym.exp(mx.sym.Variable("kept"))
    for i in range(4):
        y = mx.sym.softmax(mx.sym.FullyConnected(y, num_hidden=1040, name=f"f{i}")) + y
    y = mx.sym.Group([mx.sym.softmax(y), mx.sym.softmax(mx.sym.softmax(kept))])
    executor = y.simple_bind(mx.cpu(), grad_req="null", data=(1, 1040), kept=(16, 1040))
    executor.forward()
    for batch in batches:
        executor = executor.reshape(allow_up_sizing=True, data=(batch, 1040), kept=(16, 1040))
        executor.forward()
        new = y.simple_bind(mx.cpu(), grad_req="null", data=(batch, 1040), kept=(16, 1040))
        new.forward()
        made, wanted = executor.inference_plan, new.inference_plan
        check_places(made.storages)
        assert made.arena_bytes <= 1.05 * wanted.arena_bytes


def test_another_batch_has_the_places_of_the_first() -> None:
    y = mx.sym.Variable("data")
    for i in range(4):
        y = mx.sym.Convolution(y, num_filter=16, kernel=(3, 3), pad=(1, 1), name=f"c{i}")
    first = y.simple_bind(mx.cpu(), grad_req="null", data=(2, 16, 16, 16))
    second = first.reshape(allow_up_sizing=True, data=(6, 16, 16, 16))
    first.forward()
    second.forward()
    before, now = (executor.inference_plan.storages for executor in (first, second))
    assert [s.offset for s in now] == [3 * s.offset for s in before]
    assert any(s.offset for s in before)
    threads = mx.set_num_threads(1 if mx.get_num_threads() > 1 else 2)
    try:
        third = second.reshape(allow_up_sizing=True, data=(12, 16, 16, 16))
        third.forward()
        check_places(third.inference_plan.storages)
    finally:
        mx.set_num_threads(threads)


def written_by_others(storages: list[Storage]) -> int:
    """Blocks of 4 KB that the other half of the threads wrote to last, all storages together."""
    half_of: dict[int, int] = {}
    found = 0
    for s in sorted(storages, key=lambda s: s.born):
        for block in range(s.offset // 4096, (s.offset + s.nbytes) // 4096):
            half = int(block * 4096 >= s.offset + s.nbytes // 2)
            found += half_of.get(block, half) != half
            half_of[block] = half
    return found


def test_halves_stay_with_their_threads() -> None:
    # as in networks: values that shrink, each read by the next step, or one step later too
    shrinking = [Storage(kb * KB, i, i + 1) for i, kb in enumerate((1600, 800, 400, 200, 200, 100))]
    assert written_by_others(placed(shrinking, 1)) >= 100
    assert written_by_others(placed(shrinking, 2)) == 0


def test_halves_of_a_network_stay_with_their_threads() -> None:
    net = mx.model_zoo.symbols.get_symbol("resnet50_v1")
    plan = net.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 224, 224)).plan
    storages = [s for s in plan.storages if s.inside is None]
    assert written_by_others(placed(storages, 2)) < 0.5 * written_by_others(placed(storages, 1))


def test_a_plan_for_several_threads_needs_no_more_memory() -> None:
    net = mx.sym.Variable("data")
    for i, filters in enumerate((16, 32, 16, 64, 8)):
        net = mx.sym.relu(mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters,
                                             name=f"conv{i}"))
        if i % 2:
            net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    sizes = []
    for threads in (1, 2):
        before = mx.set_num_threads(threads)
        try:
            sizes.append(net.simple_bind(mx.cpu(), grad_req="write",
                                         data=(2, 3, 32, 32)).plan.planned_bytes)
        finally:
            mx.set_num_threads(before)
    assert sizes[0] == sizes[1]
