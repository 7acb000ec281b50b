"""Weights, gradients and states of optimizers stay in layouts of oneDNN's in training."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, config, gluon
from ndarray_rt.cpu_level import has_avx512
from ndarray_rt.gluon import nn
from ndarray_rt.op.dispatch import observe
from ndarray_rt.storage.stream import Mem, Stream

Values = dict[str, np.ndarray[Any, np.dtype[Any]]]
SHAPE, CLASSES = (4, 16, 10, 10), 5
RATES = {"sgd": {"learning_rate": 0.05, "momentum": 0.9, "wd": 1e-3},
         "adam": {"learning_rate": 0.01}, "ftrl": {"learning_rate": 0.1},
         "signum": {"learning_rate": 0.01}, "lamb": {"learning_rate": 0.01}}
# weights whose gradients a kernel writes in another layout than the default one: padded, grouped
# those that oneDNN wants in a layout of its own: below AVX-512 groups of 12 channels are products
CONVOLUTIONS = ("conv0_weight", "conv1_weight", "conv2_weight",
                *(("conv3_weight",) if has_avx512() else ()))


def network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(20, 3, padding=1, activation="relu"), nn.BatchNorm(),
                nn.Conv2D(20, 3, groups=20), nn.MaxPool2D(2),
                nn.Conv2D(24, 1, use_bias=False), nn.Conv2D(32, 3, groups=2), nn.Flatten(),
                nn.Dense(CLASSES))
    return net


def filled(net: gluon.Block) -> gluon.Block:
    """The network with weights that are always the same."""
    net.initialize()
    net(mx.nd.zeros(SHAPE))
    rng = np.random.default_rng(0)
    for name, param in sorted(net.collect_params().items()):
        if name.endswith(("weight", "bias")):
            param.set_data(mx.nd.array(rng.uniform(-0.3, 0.3, param.shape)))
    return net


def batch() -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    rng = np.random.default_rng(1)
    return mx.nd.array(rng.standard_normal(SHAPE)), mx.nd.array(np.arange(SHAPE[0]) % CLASSES)


class Gluon:
    """A block with a Trainer; hybridized or not."""

    def __init__(self, optimizer: str, is_hybrid: bool = True,
                 prepare: Callable[[gluon.Block], object] = lambda net: None) -> None:
        self.net = filled(network())
        prepare(self.net)
        if is_hybrid:
            self.net.hybridize()
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, dict(RATES[optimizer]))
        self.x, self.y = batch()

    def step(self) -> None:
        with autograd.record():
            loss = self.loss(self.net(self.x), self.y)
        loss.backward()
        self.trainer.step(SHAPE[0])

    def arrays(self) -> Iterator[tuple[str, list[mx.nd.NDArray]]]:
        """Weight, gradient and states by the weight's name."""
        states = self.trainer._updaters[0].states
        for i, param in enumerate(self.trainer._params):
            if param.grad_req != "null":
                kept = states.get(i)
                yield param.name.removeprefix("net_"), [
                    param.data(), param.grad(),
                    *([] if kept is None else kept if isinstance(kept, tuple) else [kept])]

    def values(self) -> Values:
        return {name: p.data().asnumpy() for name, p in self.net.collect_params().items()}


class Imperative(Gluon):
    def __init__(self, optimizer: str) -> None:
        super().__init__(optimizer, is_hybrid=False)


class Module:
    def __init__(self, optimizer: str) -> None:
        net = filled(network())
        found = mx.sym.SoftmaxOutput(net(mx.sym.var("data")), name="softmax")
        states = set(found.list_auxiliary_states())
        params = {name: p.data() for name, p in net.collect_params().items()}
        self.module = mx.mod.Module(found)
        self.module.bind([("data", SHAPE)], [("softmax_label", SHAPE[:1])])
        self.module.init_params(arg_params={n: a for n, a in params.items() if n not in states},
                                aux_params={n: a for n, a in params.items() if n in states})
        self.module.init_optimizer(optimizer=optimizer, optimizer_params={
            **RATES[optimizer], "rescale_grad": 1 / SHAPE[0]})
        x, y = batch()
        self.one = mx.io.DataBatch([x], [y])

    def step(self) -> None:
        self.module.forward_backward(self.one)
        self.module.update()

    def arrays(self) -> Iterator[tuple[str, list[mx.nd.NDArray]]]:
        executor = self.module._exec_group.execs[0]
        updater = self.module._updater
        for i, name in enumerate(self.module._param_names):
            kept = updater.states.get(i)
            grad = executor.grad_dict[name]
            yield name.removeprefix("net_"), [
                executor.arg_dict[name], grad,
                *([] if kept is None else kept if isinstance(kept, tuple) else [kept])]

    def values(self) -> Values:
        args, aux = self.module.get_params()
        return {name: a.asnumpy() for name, a in {**args, **aux}.items()}


class Executor:
    def __init__(self, optimizer: str) -> None:
        assert optimizer == "sgd"
        net = filled(network())
        found = mx.sym.SoftmaxOutput(net(mx.sym.var("data")), name="softmax")
        params = net.collect_params()
        self.executor = found.simple_bind(mx.cpu(), data=SHAPE, grad_req={
            n: "write" if n in params else "null" for n in found.list_arguments()})
        self.executor.copy_params_from(
            {n: p.data() for n, p in params.items() if n in self.executor.arg_dict},
            {n: p.data() for n, p in params.items() if n in self.executor.aux_dict})
        self.update = self.executor.bind_update("sgd_mom_update", rescale_grad=1 / SHAPE[0],
                                                lr=0.05, momentum=0.9, wd=1e-3)
        self.inputs = dict(zip(("data", "softmax_label"), batch(), strict=True))

    def step(self) -> None:
        self.executor.train_step(self.update, **self.inputs)

    def arrays(self) -> Iterator[tuple[str, list[mx.nd.NDArray]]]:
        for one in self.update.trained:
            yield one.name.removeprefix("net_"), one.arrays

    def values(self) -> Values:
        return {name: a.asnumpy()
                for name, a in {**self.executor.arg_dict, **self.executor.aux_dict}.items()
                if name not in self.inputs}


DOORS: dict[str, Any] = {"gluon": Gluon, "imperative": Imperative, "module": Module,
                         "executor": Executor}
over_doors = pytest.mark.parametrize("door", DOORS)


def trained(door: str, optimizer: str, steps: int, in_layouts: bool) -> Any:
    with config.override(NDRT_TRAINING_LAYOUTS=in_layouts):
        made = DOORS[door](optimizer)
        for _ in range(steps):
            made.step()
    return made


def check_equal(got: Values, want: Values) -> None:
    # blocks count names on, so that those of another network are other ones
    for (name, x), y in zip(got.items(), want.values(), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=name)


@over_doors
def test_both_modes_train_alike(door: str) -> None:
    made = {mode: trained(door, "sgd", 5, mode) for mode in (True, False)}
    check_equal(made[True].values(), made[False].values())
    for mode, one in made.items():
        for name, arrays in one.arrays():
            layouts = {array.layout for array in arrays}
            assert len(layouts) == 1, (name, layouts)
            assert (layouts != {"default"}) is (mode and name in CONVOLUTIONS), name


@pytest.mark.parametrize("optimizer", RATES)
def test_every_optimizer_trains_alike(optimizer: str) -> None:
    """Also where zeros would not stay zeros, so that padded weights stay in the default layout, and
    where a step needs the default layout."""
    made = [trained("gluon", optimizer, 4, mode) for mode in (True, False)]
    check_equal(*(one.values() for one in made))


def reorders_of(made: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str]]:
    """Reorders of parameters in one step: name; 0, 1 or more for weight, gradient or states; "read"
    where it is converted into scratch, "written" where something is converted into it."""
    owners = {array._chunk.handle: (name, i) for name, arrays in made.arrays()
              for i, array in enumerate(arrays)}
    found: list[tuple[str, int, str]] = []
    plain = Stream.reorder

    def reorder(self: Stream, prim: Any, src: Mem, dst: Mem, now: bool = False) -> None:
        for mem, what in ((src, "read"), (dst, "written")):
            if mem.keep in owners:
                found.append((*owners[mem.keep], what))
        plain(self, prim, src, dst, now)
    monkeypatch.setattr(Stream, "reorder", reorder)
    # nothing is replayed while somebody observes
    stop = observe(lambda told: None)
    try:
        made.step()
    finally:
        stop()
        monkeypatch.undo()
    return found


@over_doors
def test_no_gradient_and_no_state_is_converted(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything converted into a parameter: all that remains is that oneDNN's kernels read a
    weight in blocks of their own, other ones in forward than in backward."""
    with config.override(NDRT_TRAINING_LAYOUTS=True):
        found = reorders_of(trained(door, "sgd", 3, True), monkeypatch)
    assert {(place, what) for _, place, what in found} <= {(0, "read")}
    read = [name for name, _, _ in found]
    # no gradient of the batch is wanted: the first layer's weight is not read in backward
    assert read.count("conv0_weight") <= 1
    assert all(read.count(name) <= 2 for name in CONVOLUTIONS)
    assert set(read) <= set(CONVOLUTIONS)
    with config.override(NDRT_TRAINING_LAYOUTS=False):
        of_plain = reorders_of(trained(door, "sgd", 3, False), monkeypatch)
    assert len(of_plain) > len(found)
    assert any(what == "written" and place == 1 for _, place, what in of_plain)


@over_doors
def test_steps_are_replayed_and_take_no_memory(door: str) -> None:
    made = trained(door, "sgd", 6, True)
    # what is counted while nothing is observed: replays
    before, live = mx.reorder_stats()["reorders"], mx.memory_stats()["live"]
    made.step()
    of_one = mx.reorder_stats()["reorders"] - before
    for _ in range(20):
        made.step()
    assert mx.reorder_stats()["reorders"] - before == 21 * of_one
    assert mx.memory_stats()["live"] == live


@pytest.mark.sampled(1, "1,000 steps each")
@over_doors
def test_a_thousand_steps_keep_live_bytes_constant(door: str) -> None:
    made = trained(door, "sgd", 10, True)
    seen = set()
    for _ in range(10):
        for _ in range(100):
            made.step()
        gc.collect()
        seen.add(mx.memory_stats()["live"])
    assert len(seen) == 1, seen


def test_a_weight_that_is_set_is_brought_back() -> None:
    made = trained("gluon", "sgd", 4, True)
    weight = made.net[0].weight
    with config.override(NDRT_TRAINING_LAYOUTS=True):
        weight.set_data(weight.data() * 0 + 0.5)
        assert not weight.is_mkldnn
        assert (weight.data().asnumpy() == 0.5).all()
        made.step()
        assert weight.is_mkldnn


def deep() -> mx.sym.Symbol:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=32, name="conv")
    net = mx.sym.Convolution(mx.sym.relu(net), kernel=(3, 3), num_filter=32, name="conv1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=5), name="softmax")


@pytest.mark.parametrize("change", ["write", "view", "data"])
def test_a_weight_that_keeps_losing_its_layout_is_left_in_the_default_one(change: str) -> None:
    exe = deep().simple_bind(mx.cpu(), data=(4, 16, 8, 8), grad_req="write")
    rng = np.random.default_rng(0)
    for array in exe.arg_dict.values():
        array[:] = rng.uniform(-0.1, 0.1, array.shape)
    # the data too is trained where nobody says what is
    names = None if change == "data" else [n for n in exe.arg_dict if n.endswith("weight")]
    update = exe.bind_update("sgd_mom_update", lr=0.001, momentum=0.9, names=names)
    weight, x = exe.arg_dict["conv_weight"], mx.nd.array(rng.standard_normal((4, 16, 8, 8)))
    for _ in range(16):
        exe.train_step(update, data=x)
        if change == "write":
            weight[:] = weight.clip(-1, 1)
        if change == "view":
            weight[0].asnumpy()
    assert set(exe.capture_states.values()) == {"captured"}
    assert update.capture_state == "captured"


@pytest.mark.parametrize("other", ["adam_update", "rmsprop_update", "rmspropalex_update"])
def test_updates_in_turn_may_change_each_others_layouts(other: str) -> None:
    """A padded layout does not suit every optimizer: one leaves what another brought about."""
    def weights(is_captured: bool) -> Any:
        with config.override(NDRT_CAPTURE=is_captured):
            net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="conv")
            exe = net.simple_bind(mx.cpu(), data=(2, 3, 6, 6), grad_req="write")
            rng = np.random.default_rng(0)
            for array in exe.arg_dict.values():
                array[:] = rng.uniform(-0.3, 0.3, array.shape)
            updates = [exe.bind_update(name, names=["conv_weight", "conv_bias"], lr=0.01, **more)
                       for name, more in ((other, {}), ("sgd_mom_update", {"momentum": 0.5}))]
            seen = []
            for which in (0, 1, 0, 0, 1, 0, 0, 0):
                exe.forward(is_train=True)
                exe.backward(mx.nd.ones(exe.outputs[0].shape))
                updates[which]()
                seen.append(exe.arg_dict["conv_weight"].asnumpy())
        return seen
    np.testing.assert_array_equal(weights(True), weights(False))


def test_another_batch_size_leaves_the_layouts_alone() -> None:
    made = trained("gluon", "sgd", 4, True)
    layouts = [[array.layout for array in arrays] for _, arrays in made.arrays()]
    made.x, made.y = made.x[:3], made.y[:3]
    for _ in range(2):
        made.step()
    assert [[array.layout for array in arrays] for _, arrays in made.arrays()] == layouts


@pytest.mark.parametrize("grad_req", ["add", "write"])
def test_accumulated_gradients(grad_req: str) -> None:
    """Gradients that are added to are plain; so the weights are."""
    def prepare(net: gluon.Block) -> None:
        net.collect_params(".*weight|.*bias|.*gamma|.*beta").setattr("grad_req", grad_req)

    def run(in_layouts: bool) -> Values:
        with config.override(NDRT_TRAINING_LAYOUTS=in_layouts):
            made = Gluon("sgd", prepare=prepare)
            for _ in range(3):
                made.step()
                if grad_req == "add":
                    made.net.collect_params().zero_grad()
        return made.values()
    check_equal(run(True), run(False))


@over_doors
def test_saved_files_are_plain_whatever_the_mode(door: str, tmp_path: Any) -> None:
    """The same weights give the same bytes, in layouts or not; inference reads them as they are."""
    made = trained(door, "sgd", 3, True)
    special = {name: arrays[0] for name, arrays in made.arrays()}
    assert any(array.is_mkldnn for array in special.values())
    plain = {name: mx.nd.array(array.asnumpy()) for name, array in special.items()}
    mx.nd.save(str(tmp_path / "special"), special)
    mx.nd.save(str(tmp_path / "plain"), plain)
    assert (tmp_path / "special").read_bytes() == (tmp_path / "plain").read_bytes()
    assert all(special[name].is_mkldnn for name in CONVOLUTIONS), "saving converted them"


def test_states_and_parameters_of_both_modes_are_the_same_files(tmp_path: Any) -> None:
    """`save_parameters` and `save_states` of a trainer, loaded into one of the other mode."""
    made = trained("gluon", "sgd", 3, True)
    files = [str(tmp_path / name) for name in ("a.params", "a.states", "b.params", "b.states")]
    made.net.save_parameters(files[0])
    made.trainer.save_states(files[1])
    with config.override(NDRT_TRAINING_LAYOUTS=False):
        other = Gluon("sgd")
        other.step()
        other.net.load_parameters(files[0])
        other.trainer.load_states(files[1])
        other.net.save_parameters(files[2])
        other.trainer.save_states(files[3])
    assert not other.net.is_mkldnn
    contents = [Path(name).read_bytes() for name in files]
    assert contents[0] == contents[2]
    assert contents[1] == contents[3]
