"""What imperative calls keep of their parameters and shapes."""

from __future__ import annotations

import ndarray_rt as mx
from ndarray_rt.imperative import call
from ndarray_rt.imperative.kept import CAPACITY, ONCE, Kept, Seen


def test_a_key_is_kept_from_the_second_time_on() -> None:
    kept: Kept[str] = Kept()
    kept.offer(("a", 1), "value")
    assert not kept.made
    kept.offer(("a", 1), "value")
    assert kept.made == {("a", 1): "value"}
    kept.clear()
    kept.offer(("a", 1), "value")
    assert not kept.made


def test_keys_in_turn_are_all_kept() -> None:
    """However their hashes lie to each other."""
    kept: Kept[int] = Kept()
    for _ in range(2):
        for key in range(ONCE // 2):
            kept.offer(key * ONCE, key)
    assert len(kept.made) == ONCE // 2


def test_what_came_once_is_bounded() -> None:
    seen = Seen()
    for key in range(10 * ONCE):
        assert not seen.came_before(key)
        assert len(seen._now) + len(seen._before) <= ONCE
    assert all(seen.came_before(10 * ONCE - 1 - key) for key in range(ONCE // 2))


def test_the_table_is_bounded() -> None:
    kept: Kept[int] = Kept()
    for key in range(1, 3 * CAPACITY):
        kept.offer(key, key)
        kept.offer(key, key)
        assert len(kept.made) <= CAPACITY
    assert kept.made[3 * CAPACITY - 1] == 3 * CAPACITY - 1


def test_values_that_count_for_several() -> None:
    kept: Kept[int] = Kept(10)
    for key, count in ((1, 4), (2, 5), (3, 3), (4, 11)):
        for _ in range(2):
            kept.offer(key, count, count)
        assert sum(kept.made.values()) <= 10
    assert kept.made == {3: 3}  # the third did not fit beside the first two, the fourth in nothing


def test_shapes_that_come_once_leave_nothing() -> None:
    call._params.clear()
    call._facts.clear()
    x = mx.nd.zeros((2, 3))
    for size in range(1, 300):
        mx.nd.zeros((size, 7))
        mx.nd.reshape(x, shape=(size, -1) if size in (1, 2, 3, 6) else (-1,))
    assert len(call._facts.made) < 20
    assert len(call._params.made) < 20
    for _ in range(3):
        mx.nd.tanh(x)
    assert any(key[0].name == "tanh" for key in call._facts.made)  # type: ignore[index]
