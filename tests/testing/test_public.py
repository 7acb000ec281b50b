"""The module as users import it: with and without hypothesis; its names and its modules."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ndarray_rt as mx
from ndarray_rt import testing

ROOT = Path(mx.__file__).parents[1]


def test_every_public_name_is_there() -> None:
    assert sorted(testing.__all__) == list(testing.__all__)
    for name in testing.__all__:
        assert getattr(testing, name) is not None
        assert name in dir(testing)
    assert mx.testing is testing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        testing.nothing  # noqa: B018 - the access is what is tested


def test_no_module_stands_in_a_names_place() -> None:
    """Importing `testing.kinds` as a module would make it what `testing.kinds` means."""
    modules = {module.name for module in pkgutil.iter_modules(testing.__path__)}
    assert not modules & set(testing.__all__)


WITHOUT = """
import sys
sys.modules["hypothesis"] = None
import ndarray_rt as mx
from ndarray_rt.testing import check_layout_round_trip, check_operator, kinds_of
check_layout_round_trip((2, 3))
for name in ("layouts", "kinds", "ndarrays"):
    try:
        getattr(mx.testing, name)
    except ImportError as error:
        print(error)
"""


def test_without_hypothesis_the_checks_work_and_strategies_name_the_extra() -> None:
    made = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    assert made.stdout.count("pip install 'ndarray_rt[testing]'") == 3


STAR = """
import sys
sys.modules["hypothesis"] = None
from ndarray_rt.testing import *
from ndarray_rt import testing
check_layout_round_trip((2, 3))
assert "shapes" not in testing.__all__ and "graphs" not in testing.__all__
assert "shapes" not in dir() and random_graph(3) is not None
for name in ("Known", "kinds", "layouts", "ndarrays", "requests", "shapes"):
    try:
        getattr(testing, name)
    except ImportError as error:
        assert "pip install 'ndarray_rt[testing]'" in str(error)
    else:
        raise AssertionError(name)
try:
    testing.graphs()
except ImportError as error:
    assert "ndarray_rt[testing]" in str(error)
print(len(testing.__all__))
"""


def test_without_hypothesis_everything_else_can_be_imported() -> None:
    made = subprocess.run([sys.executable, "-c", STAR], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert made.stdout.strip() == str(len(testing.__all__) - 7), made.stderr


def test_importing_the_package_loads_no_test() -> None:
    code = ("import sys, ndarray_rt; print([n for n in sys.modules "
            "if n.startswith(('ndarray_rt.testing', 'hypothesis'))])")
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    assert made.stdout.strip() == "[]"
