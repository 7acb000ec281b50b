"""Settings of all tests: threads, tiers, Hypothesis profiles, nothing left switched over."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

# One thread a test process unless asked otherwise: teams that spin beside each other stall for
# milliseconds. Must be set before the package is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Of a shell's background jobs SIGINT is ignored, and so in all processes that tests start: Ctrl-C
# would never come.
if (signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        and threading.current_thread() is threading.main_thread()):
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import HealthCheck, Phase, settings

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.testing.failures import CHOSEN
from ndarray_rt.testing.tally import TALLY

from . import combinations, repeat, tiers

# No explaining: it traces every line of a failure again and again, for minutes.
_COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow],
           "print_blob": True,
           "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]}
# The same examples each time, but for those of `make test`, which begin at the seed of its sample;
# deep looks for new ones.
settings.register_profile("quick", max_examples=50, stateful_step_count=20, derandomize=True,
                          **_COMMON)
settings.register_profile("sample", max_examples=50, stateful_step_count=20, database=None,
                          **_COMMON)
settings.register_profile("ci", max_examples=500, stateful_step_count=30, derandomize=True,
                          **_COMMON)
settings.register_profile("deep", max_examples=10000, stateful_step_count=50, **_COMMON)


_run = combinations.Run()
_collected = 0
_told: list[str] = []  # what the tier has and what not


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "which part of the tests to run (docs/testing.md#tiers)")
    group.addoption("--tier", choices=tiers.TIERS, default="all")
    group.addoption("--sample-seed", type=int, default=None, help="of the sample; default: the day")
    group.addoption("--share", default="0/1", help="with --tier rest: k/n or today/n")
    group.addoption("--combo", default="", help="run only combinations whose description has all "
                    "of these parts: 'Convolution|view|kAddTo'")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Options that processes of one run must share are settled before others start."""
    for mark in tiers.MARKS:
        config.addinivalue_line("markers", mark)
    share = tiers.Share.parse(config.option.share)
    config.option.share = f"{share.k}/{share.n}"
    if config.option.sample_seed is None:
        config.option.sample_seed = tiers.seed_of_today()
    profile = "ci"
    if config.option.tier == "test":
        profile = "sample"
        if config.option.hypothesis_seed is None:
            config.option.hypothesis_seed = config.option.sample_seed
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the tier has; and of that, before more is deselected, how much test_ops.py has."""
    global _collected
    option = config.option
    if not any("::" in arg for arg in config.args):
        selection = tiers.select(items, option.tier, option.sample_seed,
                                 tiers.Share.parse(option.share))
        _told[:] = tiers.summary(option.tier, option.sample_seed, option.share, selection)
        _deselect(config, items, selection.left)
    if option.combo:
        part, CHOSEN.parts = repeat.split_combo(option.combo, [item.nodeid for item in items])
        _deselect(config, items, [item for item in items
                                  if part.lower() not in item.nodeid.lower()])
    _collected = sum(combinations.is_counted(item.nodeid) for item in items)


def _deselect(config: pytest.Config, items: list[pytest.Item], left: list[pytest.Item]) -> None:
    if left:
        gone = set(map(id, left))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure says how to run it alone."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed and call.excinfo is not None:
        options = [] if item.config.option.tier == "all" else [
            f"--tier={item.config.option.tier}", f"--sample-seed={item.config.option.sample_seed}"]
        report.sections.append(("to run it alone", "\n".join(
            repeat.commands(item.nodeid, call.excinfo.value, options))))


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many threads until the test ends."""
    before = mx.get_num_threads()
    mx.set_num_threads(request.param)
    yield request.param
    mx.set_num_threads(before)


@pytest.fixture(autouse=True)
def _counts_combinations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test's report says what it executed and skipped."""
    TALLY.take()
    yield
    if combinations.is_counted(request.node.nodeid):
        request.node.user_properties += [(combinations.PROPERTY, TALLY.take().as_dict()),
                                         (combinations.TOTAL, _collected)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        _run.add(report.nodeid, report.user_properties)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A whole run, or sample, that executes too little fails."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tier"] = _told
    if (not hasattr(session.config, "workerinput") and session.exitstatus == pytest.ExitCode.OK
            and _complaints(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Processes that share a run select the same tests: one of them says which."""
    _told[:] = getattr(node, "workeroutput", {}).get("tier", _told)


def _complaints(config: pytest.Config) -> list[str]:
    if config.option.combo or not _run.is_whole(config.args):
        return []
    return _run.complaints(config.option.tier)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _told:
        terminalreporter.line(line)
    if not _run.tally.generated:
        return
    terminalreporter.section(f"combinations of {combinations.FILE}")
    for line in _run.tally.summary():
        terminalreporter.line(line)
    for line in _complaints(terminalreporter.config):
        terminalreporter.line(f"FAILED: {line}", red=True)


# so many tests, and what they left alive is no garbage
FROZEN_AFTER = 50
_ran = 0


def _freeze() -> None:
    """The harness collects garbage some times a test: among all that is alive, it would take longer
    than the tests."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Thousands of tests stay for the whole run."""
    _freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    yield
    global _ran
    _ran += 1
    # its reports have them
    item.user_properties.clear()
    if _ran % FROZEN_AFTER == 0:
        _freeze()


@pytest.fixture(autouse=True)
def _switches_stay() -> Iterator[None]:
    """A test that changes a switch changes it back."""
    before = {switch.name: getattr(config, switch.name) for switch in config.SWITCHES}
    yield
    after = {switch.name: getattr(config, switch.name) for switch in config.SWITCHES}
    assert after == before
