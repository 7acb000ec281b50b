"""The targets read their own good files, and shortened, changed and joined ones."""

from __future__ import annotations

import random

import pytest

from .targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_bears_its_seeds_and_what_comes_of_them(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    assert seeds
    seeds = seeds[::max(len(seeds) // 12, 1)]
    source = random.Random(0)
    for seed in seeds:
        target.check(seed)
        for _ in range(60):
            changed = bytearray(seed[:source.randrange(len(seed) + 1)])
            for _ in range(source.randrange(4)):
                if changed:
                    changed[source.randrange(len(changed))] = source.randrange(256)
            place = source.randrange(len(changed) + 1)
            changed[place:place] = seed[:source.randrange(20)]
            target.check(bytes(changed))
            if target.mutate is not None:
                target.check(target.mutate(seed, 1 << 14, source.randrange(1 << 30)))
