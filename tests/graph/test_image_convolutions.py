"""Convolutions whose primitive is made for one image: which are, and that all are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.executor.layout.choose import plan_layouts
from ndarray_rt.executor.program import inference
from ndarray_rt.op import calibration
from ndarray_rt.op.choose import BLOCKED
from ndarray_rt.ops.nn import image_convolution
from ndarray_rt.storage.primitive import make_primitive
from ndarray_rt.symbol.symbol import Symbol
from ndarray_rt.testing.case import Case
from ndarray_rt.testing.operator import run_every_shape, run_forward
from tests.case_table import all_cases, unique_ids
from tests.graph.kernel_checks import RNG, check_other_batches, check_right

pytestmark = pytest.mark.skipif(not has_avx512(), reason="measured with AVX-512 alone")

DATA = mx.sym.var("data")
IMAGE = (24, 12, 13)
CASES = [case for case in all_cases() if case.op in ("Convolution", "_fused_Convolution")]


def conv(data: Symbol, name: str = "conv", filters: int = 24, **params: Any) -> Symbol:
    params = {"kernel": (3, 3), "pad": (1, 1), **params}
    return mx.sym.Convolution(data, num_filter=filters, name=name, **params)


def squeezed(data: Symbol) -> Symbol:
    """A number for each channel of each image."""
    return mx.sym.Pooling(data, global_pool=True, pool_type="avg", kernel=(1, 1))


FILTER = mx.sym.var("shift", shape=(1, 24, 1, 1))
NETS = {
    "relu": mx.sym.relu(conv(DATA)),
    "one channel": mx.sym.relu(conv(DATA, filters=1)),
    "no bias": mx.sym.tanh(conv(DATA, no_bias=True, kernel=(5, 5), pad=(2, 2))),
    "strides and holes": mx.sym.relu(conv(DATA, stride=(2, 1), dilate=(1, 2))),
    "a sum": mx.sym.relu(conv(DATA) + DATA),
    "a sum of two": mx.sym.relu(conv(mx.sym.relu(conv(DATA, "a")), "b") + conv(DATA, "c")),
    "of each image": mx.sym.broadcast_mul(conv(DATA), squeezed(DATA)),
    "of all images": mx.sym.relu(mx.sym.broadcast_add(conv(DATA), FILTER)),
    "a chain": conv(mx.sym.relu(conv(mx.sym.relu(conv(DATA, "a")), "b", filters=20)), "c"),
}


@pytest.fixture
def whatever_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "LEAST_IMAGE_WORK", 0)


@pytest.fixture(params=["channels-last", "blocked"])
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:

    def blocked(nodes: Any, *facts: Any) -> Any:
        return dict.fromkeys(plan_layouts(nodes, *facts), BLOCKED)
    if request.param == "blocked":
        monkeypatch.setattr(inference, "plan_layouts", blocked)
    return str(request.param)


def calls_of(net: Symbol, batch: int) -> int:
    """How many primitives and kernels a run starts."""
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(batch, *IMAGE))
    counts = [0]
    for _ in range(3):
        executor.forward(is_train=False)
        counters = executor.counters
        counts.append(counters["primitives"] + counters["kernels"])
    return counts[3] - counts[2]


@pytest.mark.parametrize("net", NETS.values(), ids=NETS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.usefixtures("whatever_the_work", "variant")
def test_is_right(net: Symbol, batch: int) -> None:
    check_right(net, (batch, *IMAGE))


@pytest.mark.parametrize("case", CASES, ids=unique_ids(CASES))
@pytest.mark.usefixtures("whatever_the_work")
def test_is_right_for_all_requests_and_memory(case: Case) -> None:
    assert run_forward(case, "native").executed
    run_every_shape(case)


@pytest.mark.usefixtures("whatever_the_work")
def test_runs_once_for_each_image() -> None:
    assert calls_of(NETS["relu"], 5) - calls_of(NETS["relu"], 1) == 4


@pytest.mark.usefixtures("threads")
def test_small_images_run_together() -> None:
    assert calls_of(NETS["relu"], 5) == calls_of(NETS["relu"], 1)


def test_enough_work_runs_image_by_image(threads: int) -> None:
    net = mx.sym.relu(conv(DATA, filters=512 * threads))
    assert calls_of(net, 3) - calls_of(net, 1) == 2


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The primitives of images that are made."""
    primitives: list[Any] = []

    def noted(*args: Any, **fields: Any) -> Any:
        primitives.append(make_primitive(*args, **fields))
        return primitives[-1]
    monkeypatch.setattr(image_convolution, "make_primitive", noted)
    return primitives


@pytest.mark.parametrize("net", [conv(DATA), mx.sym.relu(conv(DATA))], ids=["alone", "relu"])
@pytest.mark.parametrize("batches", [(2, 1, 5), (1, 4)])
@pytest.mark.usefixtures("whatever_the_work", "variant")
def test_other_batches_make_and_pack_nothing(net: Symbol, batches: tuple[int, ...],
                                             made: list[Any]) -> None:
    check_other_batches(net, IMAGE, batches)
    assert len(made) == 1


@pytest.mark.usefixtures("whatever_the_work", "variant")
def test_an_image_is_computed_alike_in_any_batch() -> None:
    net = NETS["a sum of two"]
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, *IMAGE))
    for array in executor.arg_dict.values():
        array[:] = RNG.standard_normal(array.shape)
    whole = executor.forward(is_train=False)[0].asnumpy()
    images = executor.arg_dict["data"].asnumpy()
    alone = executor.reshape(data=(1, *IMAGE))
    for image, wanted in zip(images, whole, strict=True):
        made = alone.forward(is_train=False, data=mx.nd.array(image[None]))[0].asnumpy()
        np.testing.assert_array_equal(made[0], wanted)


@pytest.mark.usefixtures("whatever_the_work")
def test_a_cleared_session_makes_them_again(made: list[Any]) -> None:
    executor = NETS["relu"].simple_bind(mx.cpu(), grad_req="null", data=(2, *IMAGE))
    executor.forward(is_train=False)
    executor._session.clear()
    executor.forward(is_train=False)
    assert len(made) == 2


@pytest.mark.usefixtures("whatever_the_work")
def test_images_of_many_sizes_do_not_fill_the_cache() -> None:
    executor = NETS["relu"].simple_bind(mx.cpu(), grad_req="null", data=(1, *IMAGE))
    counts = []
    with config.override(NDRT_CACHE_SHAPES=2):
        for size in range(12, 20):
            executor = executor.reshape(allow_up_sizing=True, data=(2, IMAGE[0], size, size))
            executor.forward(is_train=False)
            counts.append(executor.cache_stats["entries"])
    assert counts[-1] == counts[2]


@pytest.mark.usefixtures("whatever_the_work")
def test_one_group_of_shapes_is_enough_for_one_executor(made: list[Any]) -> None:
    with config.override(NDRT_CACHE_SHAPES=1, NDRT_CAPTURE=False):
        executor = NETS["a chain"].simple_bind(mx.cpu(), grad_req="null", data=(2, *IMAGE))
        executor.forward(is_train=False)
        misses = executor.cache_stats["misses"]
        executor.forward(is_train=False)
        assert executor.cache_stats["misses"] == misses
    assert len(made) == 3


@pytest.mark.usefixtures("whatever_the_work")
def test_images_share_one_scratchpad() -> None:
    taken = []
    net = mx.sym.relu(conv(DATA, filters=256, stride=(2, 2)))
    for batch in (1, 8):
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=(batch, *IMAGE))
        for _ in range(3):
            executor.forward(is_train=False)
        taken.append(executor._runs.context.stream.tmp.estimate)
    # the data in the layout of the primitive takes scratch besides
    assert taken[1] - taken[0] == 7 * np.zeros(IMAGE, "f4").nbytes
