"""The picture of a graph: boxes coloured by their share of time, as SVG and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from ...markup import table
from .layers import BOX, Placed, Point, place

if TYPE_CHECKING:
    from .explanation import Row

MARGIN = 20.0
LEGEND = 54.0
NARROWEST = 640.0
LONGEST = 36  # letters of a name in a box
_COOL, _WARM, _HOT = (246, 246, 242), (253, 190, 110), (203, 48, 32)
_REORDER, _SLOW = "#6a2c91", "#1f4fa3"
_STYLE = ("text{font:11px system-ui,sans-serif;fill:#222} .n{font-weight:600} .s{font-size:10px}"
          " path{fill:none;stroke:#8a8a8a} .w,.w text{fill:#fff}")


def svg_picture(rows: Sequence[Row], edges: Sequence[tuple[int, int]]) -> str:
    """The graph as SVG; each box's facts are its tooltip."""
    placed = place(len(rows), edges)
    width = max(placed.size[0], NARROWEST) + 2 * MARGIN
    left = (width - placed.size[0]) / 2
    height = placed.size[1] + 2 * MARGIN + LEGEND
    hottest = max((row.share_of_time for row in rows), default=0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        _legend(hottest),
        f'<g transform="translate({left:.0f} {MARGIN + LEGEND:.0f})">',
        *_lines(placed),
        *(_box(row, at, hottest) for row, at in zip(rows, placed.boxes, strict=True)),
        "</g></svg>"]
    return "\n".join(parts)


def html_page(picture: str, summary: str, head: Sequence[str],
              lines: Sequence[Sequence[str]]) -> str:
    """A page with the totals, the picture and the table."""
    style = ("body{font:14px system-ui,sans-serif;margin:24px} pre{background:#f4f4f1;padding:12px}"
             " table{border-collapse:collapse;font-size:12px} th,td{padding:2px 8px;"
             "border-bottom:1px solid #ddd;text-align:left;white-space:nowrap}"
             " .picture{overflow:auto;border:1px solid #ddd;margin:16px 0}")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>What an executor runs</title><style>{style}</style></head><body>\n"
            f"<h1>What an executor runs</h1>\n<pre>{escape(summary)}</pre>\n"
            f'<div class="picture">{picture}</div>\n'
            f"{table(lines, head)}\n"
            "</body></html>\n")


# ---- parts --------------------------------------------------------------------------------------


def _lines(placed: Placed) -> list[str]:
    return [f'<path d="{_curve(points)}"/>' for points in placed.lines]


def _curve(points: Sequence[Point]) -> str:
    """A curve through points that is vertical at each of them."""
    made = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        made.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
    return "".join(made)


def _colour(heat: float) -> tuple[int, int, int]:
    """A colour from cool to hot, for 0 to 1."""
    low, high, t = ((_COOL, _WARM, heat * 2) if heat < 0.5 else (_WARM, _HOT, heat * 2 - 1))
    r, g, b = (round(a + (z - a) * t) for a, z in zip(low, high, strict=True))
    return r, g, b


def _box(row: Row, at: Point, hottest: float) -> str:
    width, height = BOX
    x, y = at[0] - width / 2, at[1] - height / 2
    heat = row.share_of_time / hottest if hottest else 0.0
    badges = _badges(row)
    colour = badges[0][1] if badges else "#777"
    light = ' class="w"' if heat > 0.8 else ""
    peak = "" if row.share_of_peak is None else f" · {row.share_of_peak * 100:.0f} % of peak"
    lines = [("n", _short(row.node)), ("s", _short(f"{row.operator} · {row.kernel}", 44)),
             ("s", f"{row.milliseconds:.3f} ms · {row.share_of_time * 100:.1f} %{peak}")]
    texts = "".join(f'<text class="{kind}" x="{x + 8:.1f}" y="{y + 17 + 16 * i:.1f}">'
                    f"{escape(text)}</text>" for i, (kind, text) in enumerate(lines))
    marks = "".join(
        f'<g class="w"><rect x="{x + 8 + 112 * i:.1f}" y="{y - 9:.1f}" width="108" height="14" '
        f'rx="7" fill="{fill}"/><text class="s" x="{x + 14 + 112 * i:.1f}" y="{y + 2:.1f}">'
        f"{escape(text)}</text></g>" for i, (text, fill) in enumerate(badges))
    dash = ' stroke-dasharray="5 3"' if row.is_numpy else ""
    return (f"<g{light}><title>{escape(_facts(row))}</title>"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.0f}" height="{height:.0f}" rx="5" '
            f'fill="rgb{_colour(heat)}" stroke="{colour}" '
            f'stroke-width="{2.5 if badges else 1}"{dash}/>{texts}{marks}</g>')


def _badges(row: Row) -> list[tuple[str, str]]:
    """Facts shown at first sight: (text, colour)."""
    found = []
    if row.reorders:
        count = len(row.reorders)
        found.append((f"{count} reorder{'s' * (count > 1)}, {_size(row.reorder_bytes)}", _REORDER))
    if row.is_numpy:
        found.append(("in NumPy", _SLOW))
    if row.is_reference:
        found.append(("reference", _SLOW))
    return found[:2]


def _facts(row: Row) -> str:
    facts = [f"{row.node} ({row.operator})", f"does: {', '.join(row.fused_from) or '-'}",
             f"kernel: {row.kernel}", f"layouts: {row.layout_in} -> {row.layout_out}",
             f"output: {', '.join(str(shape) for shape in row.shapes)}"]
    if row.weights != "-":
        facts.append(f"weights: {row.layout_weights}, packed: {row.weights}")
    facts += [f"reorder: {r.source} -> {r.target}, {_size(r.nbytes)}" for r in row.reorders]
    facts.append(f"time: {row.milliseconds:.4f} ms, {row.share_of_time * 100:.2f} % of all")
    if row.flops:
        facts.append(f"arithmetic: {row.flops / 1e6:.1f} MFLOP, {row.gflops:.1f} GFLOP/s")
    facts.append(f"memory: {_size(row.bytes)} in and out, {row.gigabytes:.1f} GB/s")
    return "\n".join(facts)


def _legend(hottest: float) -> str:
    stops = "".join(f'<stop offset="{i / 10:.1f}" stop-color="rgb{_colour(i / 10)}"/>'
                    for i in range(11))
    y = MARGIN
    return (f'<defs><linearGradient id="heat">{stops}</linearGradient></defs>'
            f'<rect x="{MARGIN}" y="{y}" width="160" height="14" fill="url(#heat)" stroke="#777"/>'
            f'<text x="{MARGIN}" y="{y + 28}">0 %</text>'
            f'<text x="{MARGIN + 160}" y="{y + 28}" text-anchor="end">{hottest * 100:.1f} % of '
            f"the time</text>"
            f'<rect x="{MARGIN + 190}" y="{y}" width="30" height="14" rx="4" fill="#fff" '
            f'stroke="{_REORDER}" stroke-width="2.5"/><text x="{MARGIN + 228}" y="{y + 11}">'
            f"converts layouts</text>"
            f'<rect x="{MARGIN + 340}" y="{y}" width="30" height="14" rx="4" fill="#fff" '
            f'stroke="{_SLOW}" stroke-width="2.5"/><text x="{MARGIN + 378}" y="{y + 11}">'
            f"reference code or NumPy (dashed)</text>")


def _short(text: str, longest: int = LONGEST) -> str:
    """The end of a long name, which says more than its beginning."""
    return text if len(text) <= longest else "…" + text[-longest + 1:]


def _size(nbytes: int) -> str:
    if nbytes < 1000:
        return f"{nbytes} B"
    return f"{nbytes / 1e3:.1f} kB" if nbytes < 1e6 else f"{nbytes / 1e6:.1f} MB"
