"""Modules: training, evaluation, files, several contexts, buckets, rows of modules, Python."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, NameMismatch, ParameterError, TypeMismatch

SGD = {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01}


def network() -> Any:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn"), act_type="relu")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name="softmax")


def data(count: int = 20) -> tuple[Any, Any]:
    drawn = np.random.RandomState(0)
    label = drawn.randint(0, 3, count)
    # the class is which third is bright
    x = drawn.rand(count, 1, 6, 6).astype("float32") * 0.3
    for i, k in enumerate(label):
        x[i, 0, 2 * k:2 * k + 2] += 1
    return x, label.astype("float32")


def iterator(count: int = 20, size: int = 5) -> Any:
    return mx.io.NDArrayIter(*data(count), batch_size=size)


def weights(net: Any) -> dict[str, Any]:
    shapes, _, _ = net.infer_shape(data=(5, 1, 6, 6))
    drawn = np.random.RandomState(1)
    return {name: mx.nd.array(drawn.randn(*shape) * 0.2) for name, shape in
            zip(net.list_arguments(), shapes, strict=True)
            if name not in ("data", "softmax_label")}


def fitted(context: Any = None, epochs: int = 6, **options: Any) -> Any:
    net = network()
    module = mx.mod.Module(net, context=context or mx.cpu())
    module.fit(iterator(), num_epoch=epochs, optimizer_params=SGD, arg_params=weights(net),
               aux_params={}, allow_missing=True, **options)
    return module


def params_of(module: Any) -> dict[str, Any]:
    args, auxs = module.get_params()
    return {name: x.asnumpy() for name, x in {**args, **auxs}.items()}


def test_a_module_learns() -> None:
    seen = []
    module = fitted(eval_data=iterator(), epoch_end_callback=lambda epoch, *_: seen.append(epoch))
    assert module.score(iterator(), "acc") == [("accuracy", 1.0)]
    assert seen == list(range(6))
    found = module.predict(iterator())
    assert found.shape == (20, 3)
    np.testing.assert_array_equal(found.asnumpy().argmax(axis=1), data()[1])
    lists = module.predict(iterator(), num_batch=2, merge_batches=False)
    assert [[x.shape for x in outputs] for outputs in lists] == [[(5, 3)], [(5, 3)]]
    assert isinstance(module.predict(iterator(), always_output_list=True), list)
    parts = [outputs[0].asnumpy() for outputs, _, _ in module.iter_predict(iterator(18))]
    assert [len(part) for part in parts] == [5, 5, 5, 3]
    one = module.predict(mx.nd.array(data()[0][:5]))
    np.testing.assert_allclose(one.asnumpy(), found.asnumpy()[:5], rtol=1e-5, atol=1e-7)


def test_it_is_train_step_to_the_bit() -> None:
    """A module does what an executor with a bound update does."""
    module = fitted(epochs=2)
    net, source = network(), iterator()
    exe = net.simple_bind(mx.cpu(), data=(5, 1, 6, 6), grad_req={
        name: "write" if name not in ("data", "softmax_label") else "null"
        for name in net.list_arguments()})
    exe.copy_params_from(weights(net))
    exe.aux_dict["bn_moving_var"][:] = 1
    undecayed = dict.fromkeys(("conv_bias", "fc_bias", "bn_beta"), 0.0)
    update = exe.bind_update("sgd_mom_update", lr=0.2, momentum=0.9, wd=0.01, rescale_grad=1 / 5,
                             wd_mult=undecayed)
    for _ in range(2):
        for batch in source:
            exe.train_step(update, data=batch.data[0], softmax_label=batch.label[0])
        source.reset()
    for name, value in params_of(module).items():
        array = exe.arg_dict[name] if name in exe.arg_dict else exe.aux_dict[name]
        np.testing.assert_array_equal(value, array.asnumpy(), err_msg=name)


def test_steps_are_recorded() -> None:
    module = fitted(epochs=3)
    exe, = module._exec_group.execs
    assert set(exe.capture_states.values()) == {"captured"}
    updates = module._updater._recorded.values()
    assert sum(len(update.trained) for update in updates) == 6
    assert {update.capture_state for update in updates} == {"captured"}


@pytest.mark.parametrize("kvstore", ["local", "device", None])
def test_two_contexts_learn_too(kvstore: Any) -> None:
    module = fitted([mx.cpu(0), mx.cpu(1)], kvstore=kvstore or "local", eval_metric="ce")
    assert module.score(iterator(), "acc") == [("accuracy", 1.0)]
    assert [len(part) for part in module.get_outputs(merge_multi_context=False)] == [2]
    assert module.get_outputs()[0].shape == (5, 3)
    assert module.output_shapes == [("softmax_output", (5, 3))]


def test_two_contexts_are_one_without_batch_norm() -> None:
    net = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(
        mx.sym.Variable("data"), num_hidden=2, name="fc"), name="out")
    drawn = np.random.RandomState(2)
    source = mx.io.NDArrayIter(drawn.randn(12, 3), drawn.randn(12, 2), batch_size=4,
                               label_name="out_label")
    found = []
    for context, load in (([mx.cpu()], None), ([mx.cpu(0), mx.cpu(1)], [1, 3])):
        source.reset()
        module = mx.mod.Module(net, label_names=["out_label"], context=context,
                               work_load_list=load)
        module.fit(source, num_epoch=3, initializer=mx.init.One(), eval_metric="mse",
                   optimizer="adam")
        found.append(params_of(module))
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("contexts", [[0], [0, 1]])
def test_files(tmp_path: Path, contexts: list[int]) -> None:
    """Training that is saved and resumed goes on with the same bits."""
    context = [mx.cpu(i) for i in contexts]
    module = fitted(context, epochs=2)
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net-0002.params", "net-0002.states", "net-symbol.json"]
    resumed = mx.mod.Module.load(prefix, 2, load_optimizer_states=True, context=context)
    for one in (module, resumed):
        one.fit(iterator(), num_epoch=4, begin_epoch=2, optimizer_params=SGD)
    for name, value in params_of(module).items():
        np.testing.assert_array_equal(value, params_of(resumed)[name], err_msg=name)
    module.save_params(str(tmp_path / "again.params"))
    resumed.init_params(mx.init.Zero(), force_init=True)
    resumed.load_params(str(tmp_path / "again.params"))
    np.testing.assert_array_equal(params_of(module)["fc_weight"], params_of(resumed)["fc_weight"])


def test_batches_of_other_shapes() -> None:
    module = fitted()
    x, y = data()
    for count in (3, 5, 1):
        batch = mx.io.DataBatch([mx.nd.array(x[:count])], [mx.nd.array(y[:count])])
        module.forward_backward(batch)
        module.update()
        assert module.get_outputs()[0].shape == (count, 3)
    assert module.data_shapes[0].shape == (1, 1, 6, 6)
    module.reshape([("data", (5, 1, 6, 6))], [("softmax_label", (5,))])
    assert module.score(iterator(), "acc")[0][1] > 0.9


def test_gradients_of_inputs_and_of_outputs() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    module = mx.mod.Module(a * b * mx.sym.Variable("w_weight", shape=(1, 2)).broadcast_like(a),
                           data_names=["a", "b"], label_names=None)
    module.bind([("a", (3, 2)), ("b", (3, 2))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    batch = mx.io.DataBatch([mx.nd.full((3, 2), 2), mx.nd.full((3, 2), 5)])
    module.forward(batch, is_train=True)
    module.backward([mx.nd.ones((3, 2))])
    assert [float(x.mean().asscalar()) for x in module.get_input_grads()] == [5, 2]


def test_fixed_parameters_and_requests() -> None:
    net = network()
    module = mx.mod.Module(net, fixed_param_names=["conv_weight", "conv_bias"])
    before = weights(net)
    module.fit(iterator(), num_epoch=1, optimizer_params=SGD, arg_params=before,
               aux_params={}, allow_missing=True)
    after = params_of(module)
    np.testing.assert_array_equal(after["conv_weight"], before["conv_weight"].asnumpy())
    assert (after["fc_weight"] != before["fc_weight"].asnumpy()).any()
    adding = mx.mod.Module(net)
    adding.bind(iterator().provide_data, iterator().provide_label, grad_req="add")
    adding.init_params()
    batch = next(iterator())
    for _ in range(2):
        adding.forward_backward(batch)
    twice = adding._exec_group.grad_arrays[0][0].asnumpy()
    once = mx.mod.Module(net)
    once.bind(iterator().provide_data, iterator().provide_label)
    once.init_params(arg_params=adding.get_params()[0], aux_params={}, allow_missing=True)
    once.forward_backward(batch)
    np.testing.assert_allclose(twice, 2 * once._exec_group.grad_arrays[0][0].asnumpy(), rtol=1e-4,
                               atol=1e-6)


def test_states() -> None:
    x, state = mx.sym.Variable("data"), mx.sym.Variable("state")
    module = mx.mod.Module(mx.sym.Group([x + state, mx.sym.BlockGrad(state * 2)]),
                           state_names=["state"], label_names=None)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    module.set_states(value=3)
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert [float(out.mean().asscalar()) for out in module.get_outputs()] == [4, 6]
    module.set_states(states=module.get_outputs(merge_multi_context=False)[1:])
    assert module.get_states(merge_multi_context=False)[0][0].mean().asscalar() == 6


def test_monitors() -> None:
    module = mx.mod.Module(network())
    monitor = mx.mon.Monitor(1, pattern="fc_output")
    logging.disable(logging.INFO)
    try:
        module.fit(iterator(), num_epoch=1, monitor=monitor)
    finally:
        logging.disable(logging.NOTSET)
    monitor.tic()
    module.forward(next(iterator()), is_train=False)
    assert [name for _, name, _ in monitor.toc()] == ["fc_output"]


# ---- buckets ------------------------------------------------------------------------------------


def lengths(key: int) -> tuple[Any, list[str], list[str]]:
    x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=8, output_dim=4, name="embed")
    x = mx.sym.FullyConnected(mx.sym.sum(x, axis=1), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax"), ["data"], ["softmax_label"]


def bucket(key: int, count: int = 4) -> Any:
    drawn = np.random.RandomState(key)
    label = drawn.randint(0, 2, count)
    words = drawn.randint(0, 4, (count, key)) + 4 * label[:, None]
    return mx.io.DataBatch(
        [mx.nd.array(words)], [mx.nd.array(label)], pad=0, bucket_key=key,
        provide_data=[("data", (count, key))], provide_label=[("softmax_label", (count,))])


def test_buckets_share_parameters(tmp_path: Path) -> None:
    module = mx.mod.BucketingModule(lengths, default_bucket_key=9)
    module.bind([("data", (4, 9))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    metric = mx.metric.Accuracy()
    for step in range(60):
        if step == 40:
            metric.reset()
        batch = bucket((9, 3, 5)[step % 3])
        module.prepare(batch)
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    assert metric.get()[1] == 1.0
    assert module._buckets.keys() == {9, 3, 5}
    states = [one._updater for one in module._buckets.values()]
    assert all(one is states[0] for one in states)
    arrays = [one._exec_group.execs[0].arg_dict["fc_weight"] for one in module._buckets.values()]
    for array in arrays[1:]:
        np.testing.assert_array_equal(array.asnumpy(), arrays[0].asnumpy())
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 1)
    loaded = mx.mod.BucketingModule.load(prefix, 1, lengths, 9)
    loaded.bind([("data", (4, 9))], [("softmax_label", (4,))], for_training=False)
    for key in (5, 9, 3):
        for one in (module, loaded):
            one.forward(bucket(key), is_train=False)
        np.testing.assert_allclose(loaded.get_outputs()[0].asnumpy(),
                                   module.get_outputs()[0].asnumpy(), rtol=1e-5)


# ---- rows of modules ----------------------------------------------------------------------------


def test_modules_in_a_row() -> None:
    first = mx.sym.Activation(mx.sym.FullyConnected(
        mx.sym.Variable("data"), num_hidden=8, name="fc1"), act_type="tanh")
    second = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(
        mx.sym.Variable("hidden"), num_hidden=3, name="fc2"), name="softmax")
    row = mx.mod.SequentialModule()
    row.add(mx.mod.Module(first, label_names=[])).add(
        mx.mod.Module(second, data_names=["hidden"]), take_labels=True, auto_wiring=True)
    row.fit(mx.io.NDArrayIter(data()[0].reshape(20, 36), data()[1], batch_size=5), num_epoch=20,
            optimizer_params={"learning_rate": 0.5}, initializer=mx.init.Xavier())
    found = row.score(mx.io.NDArrayIter(data()[0].reshape(20, 36), data()[1], batch_size=5), "acc")
    assert found == [("accuracy", 1.0)]
    assert row.get_params()[0].keys() == {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}
    assert (row.data_names, row.output_names) == (["data"], ["softmax_output"])


def test_a_loss_in_python() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")

    def slope(scores: Any, labels: Any) -> Any:
        return mx.nd.softmax(scores) - mx.nd.one_hot(labels, 3)

    row = mx.mod.SequentialModule()
    row.add(mx.mod.Module(net, label_names=None))
    row.add(mx.mod.PythonLossModule(grad_func=slope), take_labels=True, auto_wiring=True)
    source = mx.io.NDArrayIter(data()[0].reshape(20, 36), data()[1], batch_size=5)
    row.fit(source, num_epoch=15, optimizer_params={"learning_rate": 0.3})
    source.reset()
    assert row.score(source, "acc") == [("accuracy", 1.0)]


# ---- what is wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda m: mx.mod.Module(network(), data_names=["x"]), ParameterError, "Did you mean one of"),
    (lambda m: mx.mod.Module(network(), work_load_list=[1, 2]), ParameterError, "work_load_list"),
    (lambda m: mx.mod.Module(network()).forward(None), MXNetError, "call bind first"),
    (lambda m: mx.mod.Module(network()).get_params(), MXNetError, "call init_params first"),
    (lambda m: m.update(), MXNetError, "call init_optimizer first"),
    (lambda m: m.init_params(arg_params={}, force_init=True), NameMismatch, "is not presented"),
    (lambda m: m.set_params({**m.get_params()[0], "x": mx.nd.ones((1,))}, m.get_params()[1]),
     ParameterError, "allow_extra"),
    (lambda m: m.bind([("x", (1, 2))], force_rebind=True), ParameterError, "don't match names"),
    (lambda m: m.init_optimizer(optimizer=3), TypeMismatch, "expected a name or an Optimizer"),
    (lambda m: m.init_optimizer(kvstore=3), TypeMismatch, "KVStore, str or None"),
    (lambda m: m.init_optimizer(optimizer="nothing"), ParameterError, "Cannot find optimizer"),
    (lambda m: m.predict(3), TypeMismatch, "NDArray or DataIter"),
    (lambda m: m.fit(iterator()), ParameterError, "number of epochs"),
    (lambda m: mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)]).bind(
        [("data", (1, 1, 6, 6))], [("softmax_label", (1,))]), ParameterError, "Too many slices"),
    (lambda m: m.get_input_grads(), MXNetError, "inputs_need_grad"),
    (lambda m: mx.mod.SequentialModule().bind([]), ParameterError, "empty SequentialModule"),
    (lambda m: mx.mod.SequentialModule().add(m, take_label=True), ParameterError, "a typo"),
    (lambda m: mx.mod.BucketingModule(lengths), ParameterError, "default_bucket_key is None"),
    (lambda m: mx.mod.BaseModule().data_names, NotImplementedError, "must define data_names")])
def test_wrong_calls(call: Any, error: type, text: str) -> None:
    module = mx.mod.Module(network())
    module.bind(iterator().provide_data, iterator().provide_label)
    module.init_params()
    with pytest.raises(error, match=text):
        call(module)


def test_what_is_no_shape_is_a_type_error_and_leaves_the_module_unbound() -> None:
    module = mx.mod.Module(network(), context=[mx.cpu(0), mx.cpu(1)])
    for given in (mx.nd.array([10, 10]), (5, "x", 6, 6)):
        with pytest.raises(TypeError, match="data: shape got"):
            module.bind([("data", given)], [("softmax_label", (5,))])
        assert not module.binded
    with pytest.raises(ValueError, match="data: shape got"):
        module.bind([("data", (5, 1.5, 6, 6))], [("softmax_label", (5,))])
    module.bind([("data", (5, 1, 6, 6))], [("softmax_label", (5,))])
    assert module.binded


def test_groups_of_executors_share_what_batches_fill_and_parameters_apart() -> None:
    from ndarray_rt.module.executor_group import DataParallelExecutorGroup
    from ndarray_rt.test_utils import same_array
    names = [name for name in network().list_arguments() if name not in ("data", "softmax_label")]

    def group(net: Any, shared: Any) -> Any:
        return DataParallelExecutorGroup(
            net, [mx.cpu(0), mx.cpu(1)], [1, 1], [("data", (6, 1, 6, 6))],
            [("softmax_label", (6,))], names, for_training=True, inputs_need_grad=False,
            shared_group=shared)
    first = group(network(), None)
    assert [set(each) for each in first.shared_data_arrays] == [{"data", "softmax_label"}] * 2
    longer = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(
        network().get_internals()["fc_output"], num_hidden=2, name="more"), name="softmax")
    second = group(longer, first)
    for one, other, buffer in zip(first.execs, second.execs, second.shared_data_arrays,
                                  strict=True):
        assert set(buffer) == {"data", "softmax_label", "more_weight", "more_bias"}
        for name in names:
            assert same_array(one.arg_dict[name], other.arg_dict[name])
            assert same_array(one.grad_dict[name], other.grad_dict[name])
        assert same_array(one.arg_dict["data"], other.arg_dict["data"])


def test_steps_let_go_of_copies_that_nobody_has() -> None:
    """What init_params filled is old after a step: it takes no memory unless somebody asked."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=256, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    module.bind([("data", (4, 1024))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 1e-5})
    batch = mx.io.DataBatch([mx.nd.ones((4, 1024))], [mx.nd.zeros((4,))])
    for _ in range(3):
        module.forward_backward(batch)
        module.update()
    nbytes = 1024 * 256 * 4
    live = mx.memory_stats()["live"]
    args, _ = module.get_params()
    assert mx.memory_stats()["live"] - live >= nbytes
    trained = args["fc_weight"].asnumpy()
    np.testing.assert_array_equal(
        trained, module._exec_group.execs[0].arg_dict["fc_weight"].asnumpy())
    assert (trained != 1).any()
    # a user has these: they are the module's own no longer, and are brought up to date in place
    module.forward_backward(batch)
    module.update()
    assert (args["fc_weight"].asnumpy() == trained).all()
    again, _ = module.get_params()
    assert again["fc_weight"] is args["fc_weight"]
    assert (args["fc_weight"].asnumpy() != trained).any()


def test_parameters_that_are_missing_keep_what_training_made() -> None:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros((2,))]))
    module.update()
    trained = module._exec_group.execs[0].arg_dict["fc_weight"].asnumpy()
    module.init_params(None, {"fc_bias": mx.nd.ones((3,))}, {}, allow_missing=True,
                       force_init=True)
    args, _ = module.get_params()
    np.testing.assert_array_equal(args["fc_weight"].asnumpy(), trained)
    np.testing.assert_array_equal(args["fc_bias"].asnumpy(), 1)
