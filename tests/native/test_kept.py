"""Convolutions with an activation rest, one for each description, and are taken again."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import OutOfMemory
from ndarray_rt.native import lib
from tests.native.helpers import Array, Desc, Prim, desc, from_numpy, reorder, to_numpy

X = np.random.default_rng(0).standard_normal((2, 16, 28, 28)).astype("f4")
W = np.random.default_rng(1).standard_normal((16, 16, 1, 1)).astype("f4")
PRODUCT = np.einsum("nchw,oc->nohw", X, W[:, :, 0, 0])
BIAS = np.arange(16, dtype="f4") - 8


NEW = itertools.count(2)


def leaky(alpha: float | None = None) -> dict[str, Any]:
    """An activation, with a slope that no other test has where none is given."""
    return {"kind": lib.NDRT_POST_ELTWISE, "alg": lib.NDRT_ELTWISE_RELU,
            "alpha": 1 / next(NEW) if alpha is None else alpha}


def after(activation: dict[str, Any], plain: Any) -> Any:
    return np.where(plain > 0, plain, plain * activation["alpha"])


def wanted(prim: Prim, arg: int) -> Desc:
    layout = prim.desc(arg)
    assert layout is not None
    return layout


def convolution(*post_ops: dict[str, Any], **fields: Any) -> Prim:
    """A 1x1 convolution of X in one thread; a tuple for `dst` or `bias` is its shape."""
    image = desc(X.shape, "acdb")
    given: dict[str, Any] = {"src": image, "dst": image, "weights": desc(W.shape, "any"),
                             "direction": lib.NDRT_FORWARD_INFERENCE, "nspatial": 2,
                             "strides": (1, 1), "nthreads": 1, **fields}
    for name, tag in (("dst", "acdb"), ("bias", None)):
        if isinstance(given.get(name), tuple):
            given[name] = desc(given[name], tag)
    return Prim(lib.NDRT_CONVOLUTION, post_ops=list(post_ops), **given)


def arguments(prim: Prim) -> dict[int, Array]:
    """X, W and BIAS, where it has one; the destination holds ones."""
    dst = Array(wanted(prim, lib.NDRT_ARG_DST))
    dst.numpy()[:] = 1
    args = {lib.NDRT_ARG_SRC: from_numpy(X, "acdb"), lib.NDRT_ARG_DST: dst,
            lib.NDRT_ARG_WEIGHTS: reorder(from_numpy(W), wanted(prim, lib.NDRT_ARG_WEIGHTS))}
    if prim.desc(lib.NDRT_ARG_BIAS) is not None:
        args[lib.NDRT_ARG_BIAS] = from_numpy(BIAS)
    return args


def result(prim: Prim) -> Any:
    args = arguments(prim)
    prim.run(args)
    return to_numpy(args[lib.NDRT_ARG_DST])


def close(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


def made_anew(*post_ops: dict[str, Any], **fields: Any) -> int:
    """How many had to be made for this one, which is gone then."""
    before = lib.ndrt_kept_count()
    used = convolution(*post_ops, **fields)
    more = int(lib.ndrt_kept_count() - before)
    del used
    gc.collect()
    return more


@pytest.fixture(autouse=True)
def only_where_it_applies() -> None:
    if "brgconv" not in convolution(leaky(0)).impl():
        pytest.skip("oneDNN computes it by another implementation on this CPU")


def test_it_is_made_once() -> None:
    activation = leaky()
    assert made_anew(activation) == 1
    alive, layouts = lib.ndrt_prim_count(), lib.ndrt_desc_count()
    assert [made_anew(activation) for _ in range(20)] == [0] * 20
    assert (lib.ndrt_prim_count(), lib.ndrt_desc_count()) == (alive, layouts)
    first, second = convolution(activation), convolution(activation)
    assert lib.ndrt_prim_count() == alive + 2
    expected = after(activation, PRODUCT)
    close(result(first), expected)
    del first
    gc.collect()
    close(result(second), expected)


PADDED = np.pad(PRODUCT, ((0, 0), (0, 0), (0, 1), (0, 1)))


@pytest.mark.parametrize(("post_ops", "fields", "plain"), [
    ([], {"nthreads": 2}, PRODUCT),
    ([], {"direction": lib.NDRT_FORWARD_TRAINING}, PRODUCT),
    ([], {"bias": (16,)}, PRODUCT + BIAS[:, None, None]),
    ([], {"strides": (2, 2), "dst": (2, 16, 14, 14)}, PRODUCT[:, :, ::2, ::2]),
    ([], {"pad_r": (1, 1), "dst": (2, 16, 29, 29)}, PADDED),
    ([], {"pad_l": (1, 1), "dst": (2, 16, 29, 29)}, np.roll(PADDED, (1, 1), (2, 3))),
    ([{"kind": lib.NDRT_POST_SUM, "alpha": 3}], {}, PRODUCT + 3),
    ([{"kind": lib.NDRT_POST_SUM, "alpha": 2}], {}, PRODUCT + 2),
])
def test_another_description_is_another_one(post_ops: Any, fields: Any, plain: Any) -> None:
    """Each after one that differs from it in this alone; the destination holds ones before."""
    activation = leaky()
    convolution(activation)
    before = lib.ndrt_kept_count()
    for _ in range(2):
        made = convolution(*post_ops, activation, **fields)
        assert lib.ndrt_kept_count() == before + 1
        assert lib.ndrt_prim_threads(made.ptr) == fields.get("nthreads", 1)
        close(result(made), after(activation, plain))


def test_another_layout_at_the_same_place_is_not_taken_for_it() -> None:
    """Layouts come and go; those of what is kept stay."""
    activation = leaky()
    for height in range(8, 40):
        image = desc((1, 16, height, 8), "acdb")
        made = convolution(activation, src=image, dst=image)
        assert wanted(made, lib.NDRT_ARG_DST).list("dims") == [1, 16, height, 8]


def test_an_operand_of_an_activation_s_neighbour_counts() -> None:
    shapes = [(1, 16, 1, 1), (1, 1, 1, 1)]
    before, activation = lib.ndrt_kept_count(), leaky()
    for shape in shapes * 2:
        operand = {"kind": lib.NDRT_POST_BINARY, "alg": lib.NDRT_BINARY_ADD,
                   "desc": (layout := desc(shape)).ptr}
        made = convolution(operand, activation)
        args = arguments(made)
        args[lib.NDRT_ARG_POST_OP + lib.NDRT_ARG_SRC_1] = added = Array(layout)
        added.numpy()[:] = np.arange(layout.info.nelems)
        made.run(args)
        plain = PRODUCT + added.numpy().reshape(shape)
        close(to_numpy(args[lib.NDRT_ARG_DST]), after(activation, plain))
    assert lib.ndrt_kept_count() == before + 2


def test_a_deconvolution_stays_too() -> None:
    """The name that oneDNN gives to its implementation is a text of each primitive's own."""
    def make() -> Prim:
        return Prim(lib.NDRT_DECONVOLUTION, direction=lib.NDRT_FORWARD_INFERENCE,
                    src=desc((1, 16, 6, 6), "acdb"), weights=desc((16, 16, 4, 4), "any"),
                    dst=desc((1, 16, 12, 12), "acdb"), nspatial=2, strides=(2, 2), pad_l=(1, 1),
                    pad_r=(1, 1), post_ops=[leaky(0)])
    if "brgconv" not in make().impl():
        pytest.skip("oneDNN computes it by another implementation on this CPU")
    before = lib.ndrt_kept_count()
    for _ in range(5):
        make()
    assert lib.ndrt_kept_count() == before


# ---- the bound of those that rest ----------------------------------------------------------------


@pytest.fixture
def room_for_three() -> Iterator[int]:
    """How many are in use meanwhile: none rests at first."""
    gc.collect()
    before = lib.ndrt_kept_most(0)
    lib.ndrt_kept_most(3)
    yield lib.ndrt_kept_count()
    lib.ndrt_kept_most(before)


def new_shape(height: int) -> int:
    """How many had to be made for images of that height, whose layouts are gone then."""
    image = desc((1, 16, height, 8), "acdb")
    return made_anew(leaky(0.75), src=image, dst=image)


def test_what_never_comes_again_goes(room_for_three: int) -> None:
    layouts = []
    for height in range(1, 200):
        assert new_shape(height) == 1
        gc.collect()
        assert lib.ndrt_kept_count() == room_for_three + min(height, 3)
        layouts.append(lib.ndrt_desc_count())
    assert layouts[-1] <= layouts[3]  # fewer where those of other tests went meanwhile


def test_what_comes_again_gets_room(room_for_three: int) -> None:
    rounds = [sum(new_shape(height) for height in range(300, 310)) for _ in range(8)]
    assert rounds[0] == 10
    assert rounds[-3:] == [0, 0, 0], rounds
    assert sum(rounds) <= 20
    assert lib.ndrt_kept_count() == room_for_three + 10
    for _ in range(5):  # which never come again: the room stays as it is
        convolution(leaky())
        gc.collect()
    assert lib.ndrt_kept_count() == room_for_three + 10


def test_what_is_used_stays(room_for_three: int) -> None:
    activations = [leaky() for _ in range(6)]
    used = [convolution(activation) for activation in activations]
    assert lib.ndrt_kept_count() == room_for_three + 6
    lib.ndrt_kept_most(0)
    assert lib.ndrt_kept_count() == room_for_three + 6
    for made, activation in zip(used, activations, strict=True):
        close(result(made), after(activation, PRODUCT))
    del used, made
    gc.collect()
    assert lib.ndrt_kept_count() == room_for_three


def test_the_longest_unused_goes_first(room_for_three: int) -> None:
    one, two, three, four = (leaky() for _ in range(4))
    assert [made_anew(each) for each in (one, two, three, one, four)] == [1, 1, 1, 0, 1]
    assert [made_anew(each) for each in (one, three, four)] == [0, 0, 0]
    assert made_anew(two) == 1


def test_none_without_an_activation() -> None:
    """oneDNN finds the code of these again by itself."""
    assert made_anew() == 0
    assert made_anew({"kind": lib.NDRT_POST_SUM, "alpha": 1}) == 0


def test_one_for_many_threads_that_ask_at_once() -> None:
    before, activation = lib.ndrt_kept_count(), leaky()
    results: list[Any] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        results.extend(result(convolution(activation)) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lib.ndrt_kept_count() == before + 1
    assert len(results) == 20
    for one in results:
        close(one, after(activation, PRODUCT))


def test_a_lack_of_memory_keeps_nothing_half() -> None:
    """The n-th allocation fails, for every n."""
    gc.collect()
    activation = leaky()
    alive, layouts, before = lib.ndrt_prim_count(), lib.ndrt_desc_count(), lib.ndrt_kept_count()
    for n in range(100):
        lib.ndrt_memory_fail_after(n)
        try:
            made = convolution(activation)
        except OutOfMemory:
            gc.collect()
            assert lib.ndrt_prim_count() == alive
            if lib.ndrt_kept_count() == before:
                assert lib.ndrt_desc_count() == layouts
        else:
            break
        finally:
            lib.ndrt_memory_fail_after(-1)
    assert n > 1
    assert lib.ndrt_kept_count() == before + 1
    close(result(made), after(activation, PRODUCT))
