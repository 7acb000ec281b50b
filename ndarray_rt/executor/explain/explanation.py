"""Explanation: the result of explain, as text, dict and picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import MXNetError
from ...markup import preformatted, table
from ..checks import check_path
from .picture import html_page, svg_picture


@dataclass(frozen=True)
class Reorder:
    """One conversion between layouts inside a step, and the bytes it writes."""

    source: str
    target: str
    nbytes: int


@dataclass(frozen=True)
class Row:
    """One step of a run; if its node runs once per tile of the batch, all `tiles` of these.

    `fused_from` are the nodes of the bound graph whose work it does. `weights` says how they came
    into `layout_weights`: "folded" (computed from parameters), "in place" (the bound array itself
    has it), "private copy", "no". For a step that only moves bytes `flops` is 0 and `share_of_peak`
    None.
    """

    node: str
    operator: str
    fused_from: tuple[str, ...]
    is_backward: bool
    dtype: str  # of the outputs, preceded by that of the first input if it differs
    kernel: str  # oneDNN's implementation names, "memory only", or "numpy: reason"
    is_reference: bool  # a slow reference implementation of oneDNN
    layout_in: str
    layout_out: str
    layout_weights: str
    weights: str
    reorders: Sequence[Reorder]
    milliseconds: float
    share_of_time: float
    flops: int
    bytes: int  # of all inputs and outputs
    share_of_peak: float | None
    shapes: tuple[tuple[int, ...], ...]  # of the outputs
    tiles: int = 1
    refused: tuple[tuple[str, str], ...] = ()  # implementations that were not taken, and why

    @property
    def is_numpy(self) -> bool:
        return self.kernel.startswith("numpy")

    @property
    def reorder_bytes(self) -> int:
        return sum(reorder.nbytes for reorder in self.reorders)

    @property
    def gflops(self) -> float:
        """1e9 operations a second."""
        return self.flops / self.milliseconds / 1e6 if self.milliseconds else 0.0

    @property
    def gigabytes(self) -> float:
        """1e9 bytes of inputs and outputs a second."""
        return self.bytes / self.milliseconds / 1e6 if self.milliseconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "fused_from": list(self.fused_from),
                "refused": [list(one) for one in self.refused],
                "reorders": [asdict(reorder) for reorder in self.reorders],
                "shapes": [list(shape) for shape in self.shapes],
                "reorder_bytes": self.reorder_bytes, "is_numpy": self.is_numpy,
                "gflops": self.gflops, "gigabytes": self.gigabytes}


@dataclass(frozen=True)
class Explanation:
    """Rows in the order of the run, dependencies, totals, and the fate of each bound node.

    `edges` are pairs of positions in `rows`. `origins` maps each node of the bound graph to its
    fate ("kept", "fused", "folded", "merged", "dropped") and the node that now stands for it.
    """

    rows: Sequence[Row]
    edges: Sequence[tuple[int, int]]
    totals: Mapping[str, Any]
    origins: Mapping[str, tuple[str, str]]

    def __str__(self) -> str:
        return f"{_table(self.rows, self.totals)}\n\n{summary(self.totals)}"

    def _repr_html_(self) -> str:
        """The picture, the totals and the table, as notebooks show them."""
        return (f'<div style="overflow:auto">{svg_picture(self.rows, self.edges)}</div>'
                f"{preformatted(summary(self.totals))}"
                f"{table([_cells(row) for row in self.rows], _HEAD)}")

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and strings, for JSON."""
        return {"totals": dict(self.totals), "rows": [row.as_dict() for row in self.rows],
                "edges": [list(edge) for edge in self.edges],
                "origins": {name: list(found) for name, found in self.origins.items()}}

    def save(self, path: str | Path) -> None:
        """Writes a picture of the graph: `.svg`, or `.html` with totals and the table below it.

        One self-contained file. MXNetError for another suffix, TypeMismatch or ParameterError for
        an invalid file name, OSError if it can not be written.
        """
        path = Path(check_path("explain().save: path", path))
        if path.suffix not in (".svg", ".html"):
            raise MXNetError(f"explain: {path.name!r} ends in {path.suffix!r}, expected .svg or "
                             ".html")
        picture = svg_picture(self.rows, self.edges)
        if path.suffix == ".html":
            picture = html_page(picture, summary(self.totals), _HEAD,
                                [_cells(row) for row in self.rows])
        path.write_text(picture, encoding="utf-8")


# ---- text ---------------------------------------------------------------------------------------

_HEAD = ("node", "operator", "dtype", "kernel", "in", "out", "weights", "packed", "reorders", "ms",
         "%", "GFLOP/s", "% of peak", "GB/s", "fused from")
_LEFT = frozenset({0, 1, 2, 3, 4, 5, 6, 7, 14})


def _cells(row: Row) -> tuple[str, ...]:
    peak = "" if row.share_of_peak is None else f"{row.share_of_peak * 100:.0f}"
    node = row.node if row.tiles == 1 else f"{row.tiles} x {row.node}"
    return (node, row.operator, row.dtype, row.kernel, row.layout_in, row.layout_out,
            row.layout_weights, row.weights, str(len(row.reorders)), f"{row.milliseconds:.3f}",
            f"{row.share_of_time * 100:.1f}", f"{row.gflops:.1f}" if row.flops else "", peak,
            f"{row.gigabytes:.1f}", _fused_from(row))


def _fused_from(row: Row) -> str:
    """The names without their common parts."""
    names = row.fused_from
    if names in ((), (row.node,)):
        return ""
    parts = [name.split("_") for name in names]
    same = 0
    while all(len(part) > same + 1 and part[same] == parts[0][same] for part in parts):
        same += 1
    return ", ".join("_".join(part[same:]) for part in parts)


def _table(rows: Sequence[Row], totals: Mapping[str, Any]) -> str:
    time = totals["milliseconds"]
    rate = totals["flops"] / time / 1e6 if time else 0.0
    total = ("total", f"{totals['steps']} steps", "",
             f"{totals['numpy']} in numpy, {totals['reference']} reference", "", "", "", "",
             str(totals["reorders"]), f"{totals['milliseconds']:.3f}", "100.0",
             f"{rate:.1f}", f"{rate / totals['peak_gflops'] * 100:.0f}", "", "")
    lines = [_HEAD, *(_cells(row) for row in rows), total]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]

    def text(cells: Sequence[str]) -> str:
        return "  ".join(c.ljust(w) if i in _LEFT else c.rjust(w)
                         for i, (c, w) in enumerate(zip(cells, widths, strict=True))).rstrip()
    rule = "  ".join("-" * w for w in widths)
    return "\n".join([text(_HEAD), rule, *map(text, lines[1:-1]), rule, text(total)])


def summary(totals: Mapping[str, Any]) -> str:
    """The totals in some lines."""
    t = totals
    how = ("replayed from a recording" if t["is_replayed"]
           else f"step by step ({'; '.join(dict.fromkeys(t['capture']))})")
    packed = ", ".join(f"{count} {name}" for name, count in sorted(t["weights"].items())) or "none"
    return "\n".join([
        f"run: {t['run_milliseconds']:.3f} ms, {how}; steps {t['milliseconds']:.3f} ms, around "
        f"them {t['overhead_milliseconds']:.3f} ms (medians)",
        f"arithmetic: {t['flops'] / 1e9:.3f} GFLOP, {t['gflops']:.1f} GFLOP/s, "
        f"{t['share_of_peak'] * 100:.1f} % of this machine's peak "
        f"({t['peak_gflops']:.1f} GFLOP/s of multiply-adds in registers, {t['threads']} thread(s))",
        f"graph: {t['nodes']} nodes as bound: {t['kept']} kept, {t['fused']} fused, "
        f"{t['folded']} folded, {t['merged']} merged, {t['dropped']} dropped; {t['steps']} steps",
        f"precision: {t['precision']}",
        f"weights: {packed}; {t['folded_bytes'] / 1e6:.1f} MB computed once from parameters",
        f"reorders: {t['reorders']}, {t['reorder_bytes'] / 1e6:.2f} MB a run",
        f"activations: {t['unshared_bytes'] / 1e6:.1f} MB without sharing, "
        f"{t['activation_bytes'] / 1e6:.1f} MB planned",
    ])
