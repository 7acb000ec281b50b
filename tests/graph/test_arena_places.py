"""Places in the arena: nothing overlaps, several threads need no more memory, and each half of the
threads writes where it wrote before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.executor.arena_places import place
from ndarray_rt.executor.plan import Storage

KB = 1 << 10


@st.composite
def lives(draw: st.DrawFn) -> list[Storage]:
    made = []
    for _ in range(draw(st.integers(0, 30))):
        born = draw(st.integers(0, 20))
        nbytes = draw(st.one_of(st.integers(1, 63).map(lambda n: n * 64),
                                st.integers(1, 300).map(lambda n: n * 4096)))
        made.append(Storage(nbytes, born, born + draw(st.integers(0, 6))))
    return made


def placed(storages: list[Storage], threads: int) -> list[Storage]:
    made = [Storage(s.nbytes, s.born, s.dies) for s in storages]
    place(made, threads)
    return made


def top(storages: list[Storage]) -> int:
    return max((s.offset + s.nbytes for s in storages), default=0)


@settings(max_examples=200, deadline=None)
@given(lives())
def test_nothing_overlaps_and_the_arena_does_not_grow(storages: list[Storage]) -> None:
    one, two = placed(storages, 1), placed(storages, 2)
    for made in (one, two):
        for i, a in enumerate(made):
            assert a.offset >= 0
            assert a.offset % 64 == 0
            for b in made[:i]:
                apart = a.dies < b.born or b.dies < a.born
                assert apart or not a.overlaps(b)
    assert top(two) <= top(one)


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
