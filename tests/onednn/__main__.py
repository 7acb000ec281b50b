"""Checks oneDNN's kernels: `make check-onednn`, or `python -m tests.onednn --help`.

Every implementation that oneDNN has for each case of a sample runs in memory with guards around it,
and what it computes is compared with NumPy. It fails on what the table in
native/onednn/workarounds/faulty_kernels.c does not know. NDRT_ONEDNN_LIBRARY names another oneDNN
to check.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from itertools import groupby
from pathlib import Path

import numpy as np

from ndarray_rt.native import ffi, lib, text

from . import norms, points, products, windows, witnesses
from .run import Finding, Work, examine
from .space import Space

SPACES = (*windows.SPACES, *products.SPACES, *norms.SPACES, *points.SPACES)
SHOWN = 2  # cases of each fault

parser = argparse.ArgumentParser(prog="python -m tests.onednn", description=__doc__)
parser.add_argument("--all", action="store_true", help="every combination; some hours")
parser.add_argument("--cases", type=int, default=400, help="of each space (default %(default)s)")
parser.add_argument("--seed", type=int, default=date.today().toordinal(),
                    help="of the sample; default: of the day")
parser.add_argument("--space", default="", help="only spaces whose names begin so")
parser.add_argument("--number", type=int, help="only this case")
parser.add_argument("--chosen", action="store_true",
                    help="only the implementations that operators get")
parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
parser.add_argument("--out", type=Path, help="a file for all findings, as lines of JSON")


def sample(spaces: Sequence[Space], most: int | None, seed: int) -> list[Work]:
    """At most so many cases of each space; all without a limit."""
    rng = np.random.default_rng(seed)
    work: list[Work] = []
    for space in spaces:
        numbers = (range(len(space)) if most is None or most >= len(space)
                   else rng.choice(len(space), most, replace=False))
        work += [(space, int(number)) for number in numbers]
    # all processes get the same share of what takes long
    return [work[at] for at in rng.permutation(len(work))]


def kind_of(finding: Finding) -> tuple[str, ...]:
    """What findings of one fault have in common."""
    kind, direction = finding.case.split()[:2]
    return kind, direction, finding.impl, finding.fault


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    for kind, group in groupby(sorted(findings, key=kind_of), kind_of):
        same = list(group)
        yield f"{' '.join(kind)} ({len(same)} times)"
        for one in same[:SHOWN]:
            yield f"    --space '{one.space}' --number {one.number}: {one.case}"


def main() -> int:
    given = parser.parse_args()
    spaces = [space for space in (*witnesses.SPACES, *SPACES)
              if space.name.startswith(given.space)]
    if not spaces:
        parser.error(f"no space begins with {given.space!r}")
    if given.number is not None:
        work: list[Work] = [(spaces[0], given.number)]
    else:
        work = sample(spaces, None if given.all else given.cases, given.seed)
    version = ffi.new("int[3]")
    lib.ndrt_engine_version(version)
    named = f"oneDNN {'.'.join(map(str, version))} on {text(lib.ndrt_engine_isa())}"
    print(f"{named}: {len(work)} cases of {len(spaces)} spaces, seed {given.seed}", flush=True)
    start = time.monotonic()
    findings: list[Finding] = []
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        for found, count in examine(work, Path(folder), given.jobs, given.chosen):
            findings += found
            runs += count
    if given.out:
        given.out.write_text("".join(json.dumps(asdict(one)) + "\n" for one in findings))
    new = [one for one in findings if not one.known]
    print(f"{runs} runs in {time.monotonic() - start:.0f} s")
    for title, some in (("known", [one for one in findings if one.known]), ("NEW", new)):
        for line in lines(some):
            print(f"{title}: {line}" if not line.startswith(" ") else line)
    print(f"{len(new)} findings that no row of native/onednn/workarounds/faulty_kernels.c knows")
    return bool(new)


if __name__ == "__main__":
    sys.exit(main())
