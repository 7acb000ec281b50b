"""Assigns one of two labels to each of many nodes at the least cost: a minimum cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

Pair = tuple[int, int]


def cheapest_labels(costs: Sequence[tuple[float, float]],
                    apart: Mapping[Pair, float]) -> list[int]:
    """0 or 1 for each node, so that the sum of costs is least; exact for any graph.

    `costs[i]` are the costs of node i with label 0 and 1, `apart[i, j]` the cost of different
    labels for i and j; infinity ties them. Costs are at least 0. Source: Boykov and Kolmogorov's
    construction, solved by augmenting along shortest paths (Edmonds and Karp).
    """
    n = len(costs)
    source, sink = n, n + 1
    room: list[dict[int, float]] = [{} for _ in range(n + 2)]

    def connect(a: int, b: int, there: float, back: float) -> None:
        room[a][b] = room[a].get(b, 0.0) + there
        room[b][a] = room[b].get(a, 0.0) + back

    for i, (zero, one) in enumerate(costs):
        # nodes on the source's side have label 0: the edge to the sink, which is cut, costs that
        connect(source, i, one, 0.0)
        connect(i, sink, zero, 0.0)
    for (a, b), cost in apart.items():
        connect(a, b, cost, cost)
    while True:
        came = _path(room, source, sink)
        if came is None:
            break
        steps = []
        at = sink
        while at != source:
            steps.append((came[at], at))
            at = came[at]
        flow = min(room[a][b] for a, b in steps)
        for a, b in steps:
            room[a][b] -= flow
            room[b][a] += flow
    reached = _reached(room, source)
    return [0 if i in reached else 1 for i in range(n)]


def _path(room: Sequence[Mapping[int, float]], source: int, sink: int) -> dict[int, int] | None:
    """For each node on a shortest path to the sink, its predecessor; None if there is no path."""
    came = {source: source}
    waiting = deque([source])
    while waiting:
        a = waiting.popleft()
        for b, left in room[a].items():
            if left > 1e-12 and b not in came:
                came[b] = a
                if b == sink:
                    return came
                waiting.append(b)
    return None


def _reached(room: Sequence[Mapping[int, float]], source: int) -> set[int]:
    seen = {source}
    waiting = [source]
    while waiting:
        a = waiting.pop()
        for b, left in room[a].items():
            if left > 1e-12 and b not in seen:
                seen.add(b)
                waiting.append(b)
    return seen
