"""Lanes: tiles of a batch that run at the same time, with one thread each. Runs nothing.

Threads that share each layer wait for one another at its end, and read what another core wrote,
possibly to another cache. In lanes neither happens: one thread runs a tile from its first layer to
its last. As many tiles as there are threads form a team; the next team begins when all of them have
finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import config
from ...native import lib
from ..program.plan import Kind, Plan, Step


class Team(NamedTuple):
    """Lanes: the steps from `begin` up to ends[0], from there up to ends[1], and so on."""

    begin: int
    ends: tuple[int, ...]


def lane_count() -> int:
    """How many tiles run at the same time; 1 if runs are not recorded."""
    return int(lib.ndrt_threads_get()) if config.NDRT_CAPTURE else 1


def note_lanes(plan: Plan, tiles: Sequence[int]) -> None:
    """Stores each step's team and lane. `tiles` are the tiles of the steps, -1 for none.

    There are no lanes if the steps of a tile are not consecutive, if tiles do not fill their teams,
    or if a tile reads the result of a step outside, which a reader may convert in place.
    """
    count = lane_count()
    numbers = [tile for tile in tiles if tile >= 0]
    if count == 1 or not numbers or (numbers[-1] + 1) % count or numbers != sorted(numbers):
        return
    first = tiles.index(0)
    if list(tiles[first:first + len(numbers)]) != numbers or not _read_their_own(plan, tiles):
        return
    plan.lanes = count
    for step, tile in zip(plan.steps, tiles, strict=True):
        if tile >= 0:
            step.team, step.lane = divmod(tile, count)


def _read_their_own(plan: Plan, tiles: Sequence[int]) -> bool:
    """Tiles read only their own results and what exists before any run."""
    of_tiles = list(zip(plan.steps, tiles, strict=True))
    made = {index: tile for step, tile in of_tiles for index in step.outs}
    there = {value.index for value in plan.values if value.kind in (Kind.EXTERNAL, Kind.CONSTANT)}
    return all(index in there or made[index] == tile
               for step, tile in of_tiles if tile >= 0 for index in step.ins)


def teams(steps: Sequence[Step]) -> list[Team]:
    """The teams of steps, with positions among these."""
    found: dict[int, dict[int, list[int]]] = {}
    for at, step in enumerate(steps):
        if step.team >= 0:
            found.setdefault(step.team, {}).setdefault(step.lane, []).append(at)
    return [Team(lanes[0][0], tuple(lanes[lane][-1] + 1 for lane in sorted(lanes)))
            for lanes in found.values()]
