"""The default number of threads: affinity, cores and quotas, with files of our own making."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.helpers import ROOT

CPUS = sorted(os.sched_getaffinity(0))
CODE = """
import os, sys
cpus = [int(cpu) for cpu in sys.argv[2].split(",") if cpu]
if cpus:
    os.sched_setaffinity(0, cpus)
from ndarray_rt.threads import default_num_threads
print(default_num_threads(sys.argv[1]))
"""
V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/cpu"


def default(root: Path | str = "", cpus: str = "", **environment: str) -> int:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "NDRT_"))}
    env |= {"PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", CODE, str(root), cpus], env=env, check=True,
                          capture_output=True, text=True)
    return int(done.stdout)


def files(root: Path, **contents: str) -> Path:
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="ascii")
    return root


needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU has one answer")


@needs_two
def test_no_files_leave_the_affinity(tmp_path: Path) -> None:
    assert default(tmp_path) == len(CPUS)
    assert default(tmp_path, cpus=str(CPUS[-1])) == 1
    assert default(tmp_path, OMP_NUM_THREADS="5") == 5


@needs_two
def test_hardware_threads_of_one_core_count_once(tmp_path: Path) -> None:
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    both = {topology.format(cpu): f"{CPUS[0]},{CPUS[1]}" for cpu in CPUS[:2]}
    assert default(files(tmp_path / "a", **both)) == len(CPUS) - 1
    assert default(tmp_path / "a", cpus=str(CPUS[1])) == 1
    apart = {topology.format(cpu): f"{cpu}-{cpu}" for cpu in CPUS}
    assert default(files(tmp_path / "b", **apart)) == len(CPUS)


@pytest.mark.sampled(4, "a process each")
@needs_two
@pytest.mark.parametrize(("group", "limits", "quota"), [
    ("0::/", {f"{V2}/cpu.max": "100000 100000"}, 1),
    ("0::/", {f"{V2}/cpu.max": "100001 100000"}, 2),
    ("0::/", {f"{V2}/cpu.max": "5000 100000"}, 1),
    ("0::/", {f"{V2}/cpu.max": "max 100000"}, None),
    # a group's own quota, and those of the groups around it: the smallest
    ("0::/a/b", {f"{V2}/a/b/cpu.max": "max 100000", f"{V2}/a/cpu.max": "50000 100000"}, 1),
    ("0::/a/b", {f"{V2}/a/b/cpu.max": "100000 100000", f"{V2}/a/cpu.max": "max 100000"}, 1),
    ("0::/a", {f"{V2}/a/b/cpu.max": "100000 100000"}, None),
    # the host's path, which is not there inside the container
    ("0::/docker/123", {f"{V2}/cpu.max": "100000 100000"}, 1),
    ("4:cpu,cpuacct:/x", {f"{V1}/x/cpu.cfs_quota_us": "100000",
                          f"{V1}/x/cpu.cfs_period_us": "100000"}, 1),
    ("4:cpu,cpuacct:/x", {f"{V1},cpuacct/cpu.cfs_quota_us": "100000",
                          f"{V1},cpuacct/cpu.cfs_period_us": "100000"}, 1),
    ("4:cpuacct:/x\n2:cpu:/", {f"{V1}/x/cpu.cfs_quota_us": "100000",
                               f"{V1}/x/cpu.cfs_period_us": "100000"}, None),
    ("2:cpu:/", {f"{V1}/cpu.cfs_quota_us": "-1", f"{V1}/cpu.cfs_period_us": "100000"}, None),
    ("2:cpu:/\n0::/u", {f"{V2}/unified/u/cpu.max": "100000 100000"}, 1),
    ("nonsense\n::\n0:", {f"{V2}/cpu.max": "100000 100000"}, None),
])
def test_quotas(tmp_path: Path, group: str, limits: dict[str, str], quota: int | None) -> None:
    root = files(tmp_path, **{"proc/self/cgroup": group}, **limits)
    expected = len(CPUS) if quota is None else min(quota, len(CPUS))
    assert default(root) == expected
    assert default(root, cpus=str(CPUS[0])) == 1
    assert default(root, OMP_NUM_THREADS="3") == 3
