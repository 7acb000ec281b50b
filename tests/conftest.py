"""Settings of all tests: threads, Hypothesis profiles, nothing left switched over."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator

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
from ndarray_rt.testing.tally import TALLY

from . import combinations

# No explaining: it traces every line of a failure again and again, for minutes.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow],
           "print_blob": True,
           "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]}
# What is checked at every change runs the same examples each time; deep looks for new ones.
settings.register_profile("quick", max_examples=50, stateful_step_count=20, derandomize=True,
                          **_COMMON)
settings.register_profile("ci", max_examples=500, stateful_step_count=30, derandomize=True,
                          **_COMMON)
settings.register_profile("deep", max_examples=10000, stateful_step_count=50, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_run = combinations.Run()
_collected = 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before any is deselected: how many tests a whole run of test_ops.py has."""
    global _collected
    _collected = sum(combinations.is_counted(item.nodeid) for item in items)


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
    """A whole run that executes too little fails."""
    if (not hasattr(session.config, "workerinput") and _run.is_whole(session.config.args)
            and _run.complaints() and session.exitstatus == pytest.ExitCode.OK):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _run.tally.generated:
        return
    terminalreporter.section(f"combinations of {combinations.FILE}")
    for line in _run.tally.summary():
        terminalreporter.line(line)
    if _run.is_whole(terminalreporter.config.args):
        for line in _run.complaints():
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
