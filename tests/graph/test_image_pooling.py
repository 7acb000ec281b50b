"""Poolings whose primitive is made for one image: which are, and that all are right."""

from __future__ import annotations

from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.op import calibration
from ndarray_rt.ops.nn import pool_onednn
from ndarray_rt.symbol.symbol import Symbol
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.operator import run_every_shape, run_forward
from tests.case_table import all_cases, unique_ids
from tests.graph.kernel_checks import check_other_batches, check_right

DATA = mx.sym.var("data")
IMAGE = (5, 14, 13)
CASES = [case for case in all_cases() if case.op in ("Pooling", "_fused_Pooling", "Pooling_v1")]


def pool(**params: Any) -> Symbol:
    """Behind a convolution, which hands on the images that it likes."""
    params = {"kernel": (3, 3), "pool_type": "max", **params}
    return mx.sym.Pooling(mx.sym.Convolution(DATA, num_filter=24, kernel=(1, 1), name="conv"),
                          **params)


NETS = {
    "max": pool(),
    "padded": pool(pad=(1, 1), stride=(2, 1)),
    "full": pool(stride=(2, 2), pooling_convention="full"),
    "average": pool(pool_type="avg", pad=(1, 1), count_include_pad=False),
    "sum": pool(pool_type="sum"),
    "global": pool(pool_type="avg", global_pool=True),
    "relu": mx.sym.relu(pool(pool_type="avg", stride=(2, 2))),
    "clip": mx.sym.clip(pool(pool_type="sum"), a_min=-1, a_max=1),
}


@pytest.fixture
def whatever_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "LEAST_POOLING_WORK", 0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Batch sizes of the pooling primitives that are made."""
    sizes: list[int] = []
    real = pool_onednn._forward

    def noted(kernel: Any, given: Any, post_ops: Any) -> Any:
        sizes.append(given.dims[0])
        return real(kernel, given, post_ops)
    monkeypatch.setattr(pool_onednn, "_forward", noted)
    return sizes


@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.usefixtures("whatever_the_work")
def test_is_right(net: Symbol, batch: int) -> None:
    check_right(net, (batch, *IMAGE))


@pytest.mark.parametrize("case", CASES, ids=unique_ids(CASES))
@pytest.mark.usefixtures("whatever_the_work")
def test_is_right_for_all_requests_and_memory(case: Case) -> None:
    assert run_forward(case, "native").executed
    run_every_shape(case)


@pytest.mark.parametrize("batches", [(2, 1, 5), (1, 4)])
@pytest.mark.usefixtures("whatever_the_work")
def test_other_batches_make_nothing(batches: tuple[int, ...], made: list[int]) -> None:
    check_other_batches(NETS["average"], IMAGE, batches)
    assert made == [1]


def test_maxima_need_no_primitive(made: list[int]) -> None:
    check_other_batches(NETS["max"], IMAGE, (2, 1, 5))
    assert not made


def test_small_images_are_pooled_together(made: list[int]) -> None:
    check_right(NETS["average"], (3, *IMAGE))
    assert made == [3]


@pytest.mark.usefixtures("whatever_the_work")
def test_images_by_channels_are_pooled_together(made: list[int]) -> None:
    """In the default layout oneDNN converts whole batches on the way."""
    net = mx.sym.Pooling(DATA, kernel=(3, 3), pool_type="max")
    check_right(net, (3, *IMAGE))
    assert made == [3]
