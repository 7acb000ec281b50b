"""Each optimizer and schedule gives what the real MXNet 1.9.1 gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

from . import golden

DATA = Path(__file__).parents[1] / "data" / "mxnet_optimizers"
STEPS = json.loads((DATA / "steps.json").read_text())
RATES = json.loads((DATA / "rates.json").read_text())


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize("case", golden.CASES, ids=golden.name_of)
def test_steps_are_mxnets(case: tuple[str, dict[str, Any], str], together: bool) -> None:
    weights = golden.run(mx, case, together)
    # a float16 weight may round to the other neighbour
    tolerance = 1e-5 if case[2] == "float32" else 2e-3
    key = golden.name_of(case) + " together" * (together and case in golden.DEPENDS_ON_CALLS)
    for weight, wanted in zip(weights, STEPS[key], strict=True):
        np.testing.assert_allclose(weight.asnumpy().astype("float32").ravel(), wanted,
                                   rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", [case for case in golden.CASES
                                  if case not in golden.DEPENDS_ON_CALLS], ids=golden.name_of)
def test_together_gives_the_same_bits(case: tuple[str, dict[str, Any], str]) -> None:
    for one, other in zip(golden.run(mx, case), golden.run(mx, case, together=True), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@pytest.mark.parametrize(("name", "params"), golden.SCHEDULES, ids=[s[0] for s in golden.SCHEDULES])
def test_rates_are_mxnets(name: str, params: dict[str, Any]) -> None:
    np.testing.assert_allclose(golden.rates(mx, name, params), RATES[name], rtol=1e-12)


@pytest.mark.parametrize("alone", [False, True], ids=["with optimizer", "states alone"])
@pytest.mark.parametrize("name", golden.PICKLED)
def test_pickled_states_are_read(name: str, alone: bool) -> None:
    data = (DATA / f"states_{name}{'_alone' * alone}.bin").read_bytes()
    ours = golden.trained(mx, name)
    updater = mx.optimizer.get_updater(golden.make(mx, name, {}))
    updater.set_states(data)
    for index, state in ours.states.items():
        found = updater.states[index]
        for a, b in zip(_arrays(found), _arrays(state), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
    if not alone:
        theirs, mine = vars(updater.optimizer), vars(ours.optimizer)
        for key in mine.keys() - {"lr_scheduler", "param_dict"}:
            assert theirs[key] == mine[key], key
        assert vars(theirs["lr_scheduler"]) == vars(mine["lr_scheduler"])


def _arrays(state: Any) -> list[Any]:
    return list(state) if isinstance(state, (tuple, list)) else [state]
