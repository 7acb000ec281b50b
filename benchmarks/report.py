"""Tables and a picture of a run: python -m benchmarks.report benchmarks/results/bench.jsonl"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from .results import BEST_PEER, BOUND, BOUNDS, PEERS, Ratio, Results, read_results
from .runner import OURS, Row

Cells = Sequence[object]


def format_table(head: Cells, body: Iterable[Cells]) -> list[str]:
    """A table of markdown and an empty line; nothing for an empty body."""
    rows = list(body)
    if not rows:
        return []
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


def cell(ratio: Ratio | None) -> str:
    return "-" if ratio is None else str(ratio)


def tell_run(results: Results) -> list[str]:
    run = results.run
    lines = [f"{run['cpu']}, {run['cores']} cores, {run['system']}, Python {run['python']}, "
             f"{run['time']}; {run['rounds']} rounds of {run['seconds']} s or at least 3 steps, in "
             f"turns; load {run['load']:.1f} at the start.", ""]
    if run.get("cpu_time"):
        lines += ["Times are those of the CPU, not the clock's.", ""]
    if run.get("env"):
        lines += [f"Set for all: {' '.join(run['env'])}.", ""]
    lines += [f"**Outputs differ, the row was not measured:** {why}\n"
              for why in results.differs]
    versions = [f"{name} {version}" for name, version in results.versions().items()]
    return [*lines, f"Versions: {', '.join(versions)}.", ""]


def compare_with_peers(results: Results) -> list[str]:
    """Ratios of all rows, and their geometric means."""
    names = [name for name in PEERS if name in results.runners]
    if not names:
        return []
    columns = [*names, BEST_PEER]
    body: list[Cells] = []
    for row in results.rows:
        if OURS not in results.rows[row]:
            continue
        ratios = [cell(results.ratio(row, name)) for name in columns]
        body.append([row.model, row.batch, row.threads, *ratios, results.fastest(row, PEERS)])
    means = [results.mean_ratio(name) for name in columns]
    body.append(["**geometric mean**", "", "",
                 *("-" if m is None else f"**{m[0]:.2f}** of {m[1]}" for m in means), ""])
    return ["## Our speed over theirs", "",
            "Above 1 ours is faster. Medians of the rounds' medians; in brackets the least and the "
            "most of the single rounds.", "",
            *format_table(["model", "batch", "threads", *columns, "which"], body)]


def compare_with_bound(results: Results) -> list[str]:
    """Our ways of running beside the same primitives in plain C."""
    body: list[Cells] = []
    for row in results.rows:
        bound = results.measured(row, BOUND)
        if bound is None:
            continue
        speed = bound.facts.get("gflop", 0) / bound.ms * 1e3
        peak = results.peaks.get(row.threads, 0)
        openvino = cell(results.ratio(row, BOUND, "openvino"))
        times = [cell(results.ratio(row, name, BOUND))
                 for name in (OURS, "ours:tuned", "ours:fused", "ours:plain", "bound:naive")]
        body.append([row.model, row.batch, row.threads, f"{bound.ms:.2f}",
                     results.fastest(row, BOUNDS), f"{speed:.0f}",
                     f"{speed / peak:.0%}" if peak and speed else "-", openvino, *times])
    if not body:
        return []
    return ["## Beside the bound", "",
            "The raw C program (`benchmarks/bound`), the better of its layouts. `peak`: its share "
            "of the multiply-adds that registers allow; `x openvino`: its time as a multiple of "
            "OpenVINO's. The last five: the time of ours, and of the program with reorders around "
            "each primitive, as multiples of its time.", "",
            *format_table(["model", "batch", "threads", "bound ms", "layout", "GFLOP/s", "peak",
                           "x openvino", "captured", "tuned", "fused", "plain", "naive"], body)]


def tell_shares(results: Results) -> list[str]:
    """What tuning, capture, passes and the store of primitives bring, model by model."""
    body: list[Cells] = []
    for row in results.rows:
        gains = [_saved(results, row, *pair) for pair in
                 ((OURS, "ours:tuned"), ("ours:fused", OURS), ("ours:plain", "ours:fused"),
                  ("ours:uncached", "ours:fused"), ("bound:naive", OURS))]
        if any(gain != "-" for gain in gains):
            body.append([row.model, row.batch, row.threads, *gains])
    if not body:
        return []
    return ["## Where our time goes", "",
            "The share of a step's time that goes away with tuning; of one step by step with "
            "capture; of one without passes with these; of one that makes all primitives again "
            "with kept ones; and of the C program's with reorders around each primitive.",
            "",
            *format_table(["model", "batch", "threads", "tuning", "capture", "passes", "cache",
                           "layouts (naive)"], body)]


def _saved(results: Results, row: Row, slow: str, fast: str) -> str:
    before, after = results.measured(row, slow), results.measured(row, fast)
    return "-" if before is None or after is None else f"{1 - after.ms / before.ms:.0%}"


def list_times(results: Results) -> list[str]:
    """Every runner in every row, in plain numbers."""
    body: list[Cells] = []
    for row, found in results.rows.items():
        for name, measured in found.items():
            rounds, start = measured.rounds, measured.start
            import_s = start.get("import_s")
            body.append([
                row.model, row.batch, row.threads, name, f"{measured.ms:.4g}",
                f"{min(rounds):.4g}-{max(rounds):.4g}", f"{row.batch / measured.ms * 1e3:.4g}",
                "-" if import_s is None else f"{import_s:.2f}", f"{start['load_s']:.2f}",
                f"{start['first_s']:.2f}", f"{measured.end.get('peak_mb', float('nan')):.0f}",
                f"{median(turn['others'] for turn in measured.turns):.2f}",
                ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                          for key, value in measured.facts.items())])
    return ["## Times", "",
            "`ms` is the median step, with the least and the most of the rounds' medians; `/s` "
            "inputs in a second; `load` reading and binding, `first` from the start of the process "
            "to the first result, both in seconds; `MB` peak resident memory; `others` the cores "
            "that other processes kept busy meanwhile: above about 0.3, do not trust the row.", "",
            *format_table(["model", "batch", "threads", "runner", "ms", "min-max", "/s", "import",
                           "load", "first", "MB", "others", "facts"], body)]


def list_skipped(results: Results) -> list[str]:
    """Who was not measured where, and why; one line a reason."""
    runners: dict[str, dict[str, None]] = {}
    models: dict[str, dict[str, None]] = {}
    for record in results.skipped:
        runners.setdefault(record["why"], {})[record["runner"]] = None
        models.setdefault(record["why"], {})[record["model"]] = None
    lines = [f"- {', '.join(names)}: {why} ({', '.join(models[why])})"
             for why, names in runners.items()]
    return ["## Skipped", "", *lines, ""] if lines else []


def as_markdown(results: Results) -> str:
    parts = [["# Benchmark", ""], tell_run(results), compare_with_peers(results),
             compare_with_bound(results), tell_shares(results), list_times(results),
             list_skipped(results)]
    return "\n".join(line for part in parts for line in part)


def draw(results: Results, path: Path) -> bool:
    """The ratios as a picture; False when matplotlib is not installed or nothing is to be seen."""
    others = [name for name in (*PEERS, BOUND) if results.mean_ratio(name)]
    rows = [row for row in results.rows if OURS in results.rows[row]]
    if not others or not rows:
        return False
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is not installed (pip install 'ndarray_rt[plot]')")
        return False
    figure = Figure(figsize=(9, 1.8 + 0.34 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for i, name in enumerate(others):
        points = [(y, ratio) for y, row in enumerate(rows) if (ratio := results.ratio(row, name))]
        height = [y + (i - len(others) / 2) * 0.09 for y, _ in points]
        values = [ratio.value for _, ratio in points]
        spread = [[max(0.0, r.value - r.least) for _, r in points],
                  [max(0.0, r.most - r.value) for _, r in points]]
        axes.errorbar(values, height, xerr=spread, fmt="osD^vPX"[i % 7], markersize=5,
                      elinewidth=0.8, label=name, color=f"C{i}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 0.7, 0.88, 1, 1.5, 2, 3, 5, 10]
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high] or [1]
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), [f"{r.model} b{r.batch} {r.threads}T" for r in rows])
    axes.invert_yaxis()
    axes.grid(axis="x", linewidth=0.3)
    axes.set_xlabel("our speed over theirs (right of 1: ours is faster)")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)
    return True


def write_report(lines: Path) -> list[Path]:
    """Writes the tables and the picture beside the lines of a run; the paths of all."""
    results = read_results(lines)
    tables, picture = lines.with_suffix(".md"), lines.with_suffix(".png")
    tables.write_text(as_markdown(results), encoding="utf-8")
    return [lines, tables, *([picture] if draw(results, picture) else [])]


if __name__ == "__main__":
    for written in write_report(Path(sys.argv[1])):
        print(written)
