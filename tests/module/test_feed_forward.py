"""FeedForward and the executor manager give what MXNet 1.9.1 gave (make_mxnet_feed_forward.py)."""

from __future__ import annotations

import copy
import logging
import pickle
import pickletools
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, ParameterError

DATA = Path(__file__).parents[1] / "data" / "mxnet_feed_forward"
CPUS = {"one": [mx.cpu()], "two": [mx.cpu(0), mx.cpu(1)]}

pytestmark = pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward:DeprecationWarning")


@lru_cache(maxsize=1)
def answers() -> dict[str, np.ndarray]:
    with np.load(DATA / "trained.npz") as data:
        return dict(data)


def network() -> Any:
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=False, name="bn")
    x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=8, name="fc1"), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc2"), name="softmax")


def given() -> dict[str, Any]:
    before = {name.removeprefix("before."): mx.nd.array(value)
              for name, value in answers().items() if name.startswith("before.")}
    return {"arg_params": before, "aux_params": {"bn_moving_mean": mx.nd.zeros((4,)),
                                                 "bn_moving_var": mx.nd.ones((4,))}}


def source() -> Any:
    return mx.io.NDArrayIter(answers()["data"], answers()["label"], 10)


def model_of(**options: Any) -> Any:
    return mx.model.FeedForward(network(), **{"numpy_batch_size": 10, **given(), **options})


@pytest.mark.parametrize("epoch_size", [None, 7])
@pytest.mark.parametrize("how", CPUS)
def test_training(how: str, epoch_size: int | None) -> None:
    model = model_of(ctx=CPUS[how], num_epoch=4, epoch_size=epoch_size, learning_rate=0.3,
                     momentum=0.9)
    params, seen = model.arg_params, []
    model.fit(source(), eval_data=(answers()["data"], answers()["label"]),
              batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)),
              eval_end_callback=None)
    key = f"{how}.{epoch_size}."
    assert seen == list(map(tuple, answers()[f"{key}seen"]))
    for name, value in {**model.arg_params, **model.aux_params}.items():
        np.testing.assert_allclose(value.asnumpy(), answers()[key + name], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict(answers()["data"]), answers()[f"{key}outputs"],
                               rtol=1e-4, atol=1e-5)
    assert model.score(source()) == pytest.approx(float(answers()[f"{key}score"]))
    assert set(model.arg_params) == set(params)


@pytest.mark.parametrize("protocol", [2, 4])
def test_models_that_mxnet_pickled(protocol: int) -> None:
    model = mx.model.FeedForward.from_pickle(DATA / f"model_{protocol}.bin")
    np.testing.assert_allclose(model.predict(answers()["data"]), answers()["two.7.outputs"],
                               rtol=1e-5, atol=1e-6)
    assert model.ctx == CPUS["two"]
    assert model.kwargs["momentum"] == 0.9
    assert isinstance(model.initializer, mx.init.Uniform)
    model.begin_epoch, model.num_epoch = 4, 5
    model.fit(source())
    assert model.score(source()) > 0.5


def test_a_pickled_model_with_objects() -> None:
    model = mx.model.FeedForward.from_pickle((DATA / "adam.bin").read_bytes())
    assert isinstance(model.optimizer, mx.optimizer.Adam)
    assert isinstance(model.optimizer.lr_scheduler, mx.lr_scheduler.FactorScheduler)
    assert model.optimizer.learning_rate == 0.125
    (pattern, constant), (_, xavier) = model.initializer.map
    assert (pattern.pattern, constant.value) == (".*bias", 0.5)
    assert (type(xavier), xavier.magnitude) == (mx.init.Xavier, 2)
    with pytest.warns(UserWarning, match="rescale_grad"):
        model.fit(source())
    assert model.predict(source()).shape == (46, 3)


@pytest.mark.parametrize(("data", "text"), [
    (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "asks for os.system"),
    (b"\x80\x02cmxnet.model\nload_checkpoint\n.", "asks for mxnet.model.load_checkpoint"),
    (b"\x80\x02cmxnet.initializer\nregister\n.", "asks for mxnet.initializer.register"),
    (pickle.dumps({"symbol": 1}), "no FeedForward"), (b"nothing", "neither")])
def test_other_pickles_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        mx.model.FeedForward.from_pickle(data)


def test_damaged_pickles_are_refused() -> None:
    whole = (DATA / "adam.bin").read_bytes()
    places = [at for _, _, at in pickletools.genops(whole) if at]
    for at in places[::7]:
        with pytest.raises(MXNetError):
            mx.model.FeedForward.from_pickle(whole[:at])


def test_a_model_is_copied_and_pickled_as_other_objects() -> None:
    model = model_of(num_epoch=1)
    model.fit(source(), eval_metric="ce")
    want = model.predict(source())
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict(source()), want)


def test_files(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    model = model_of(num_epoch=3)
    with pytest.raises(MXNetError, match="no parameters"):
        mx.model.FeedForward(network(), num_epoch=3).save(prefix)
    model.fit(source(), epoch_end_callback=mx.callback.do_checkpoint(prefix, period=2))
    model.save(prefix)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net-0002.params", "net-0003.params", "net-symbol.json"]
    loaded = mx.model.FeedForward.load(prefix, 3)
    assert loaded.begin_epoch == 3
    np.testing.assert_array_equal(loaded.predict(source()), model.predict(source()))


def test_create_learns_and_says_what_it_does(caplog: pytest.LogCaptureFixture) -> None:
    mx.random.seed(0)
    np.random.seed(0)
    x, y = answers()["data"], answers()["label"]
    with caplog.at_level(logging.INFO), pytest.warns(DeprecationWarning, match="mod.Module"):
        model = mx.model.FeedForward.create(
            network(), mx.nd.array(x), mx.nd.array(y[:, None]), num_epoch=30, learning_rate=0.05,
            momentum=0.9, numpy_batch_size=8, initializer=mx.init.Xavier(), eval_data=(x, list(y)))
    assert model.score(mx.io.NDArrayIter(x, y, 8)) > 0.9
    assert "Epoch[29] Validation-accuracy=" in caplog.text
    assert "Epoch[3] Resetting Data Iterator" in caplog.text


def test_what_predict_gives() -> None:
    one = network()
    data = one.get_internals()["data"]
    two = mx.sym.Group([one, mx.sym.BlockGrad(data * 2, name="twice")])
    model = mx.model.FeedForward(two, numpy_batch_size=10, **given())
    x = answers()["data"]
    (scores, twice), data, label = model.predict(source(), num_batch=2, return_data=True)
    np.testing.assert_allclose(twice, x[:20] * 2)
    np.testing.assert_array_equal(data, x[:20])
    np.testing.assert_array_equal(label, answers()["label"][:20])
    assert scores.shape == (20, 3)
    # new parameters count at once, other batch sizes too
    assert model.arg_params is not None
    model.arg_params["fc2_bias"][:] = mx.nd.array([100, 0, 0])
    assert (model.predict(x)[0].argmax(1) == 0).all()
    assert model.predict(x[:3])[0].shape == (3, 3)
    assert mx.model.FeedForward(network(), **given()).score(source(), "acc", num_batch=0) != 0


def test_parameters_the_graph_does_not_have() -> None:
    extra = given()
    extra["arg_params"]["other"] = mx.nd.ones((1,))
    extra["aux_params"]["more"] = mx.nd.ones((1,))
    model = mx.model.FeedForward(network(), allow_extra_params=True, **extra)
    assert model.arg_params is not None
    assert model.aux_params is not None
    assert set(model.arg_params) == set(given()["arg_params"])
    assert set(model.aux_params) == set(given()["aux_params"])


def test_buckets() -> None:
    """A graph for each length; all have one set of weights."""
    mx.random.seed(3)
    np.random.seed(3)
    sentences = [[1 + (i + k) % 5 for k in range(3 + i % 2)] for i in range(80)]
    data = mx.rnn.BucketSentenceIter(sentences, 8, invalid_label=0)

    def graph(length: int) -> Any:
        x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=6, output_dim=6, name="embed")
        scores = mx.sym.FullyConnected(mx.sym.Reshape(x, shape=(-1, 6)), num_hidden=6, name="fc")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=0, name="softmax")

    model = mx.model.FeedForward(graph, num_epoch=20, learning_rate=0.5, momentum=0.9,
                                 initializer=mx.init.Xavier())
    said = []
    model.fit(data, eval_metric=mx.metric.Perplexity(0),
              batch_end_callback=lambda p: said.append(p.eval_metric.get()[1]))
    assert said[-1] < 1.5 < said[0]
    assert model.symbol.list_arguments() == graph(4).list_arguments()


@pytest.mark.parametrize(("wrong", "error", "text"), [
    (lambda: mx.model.FeedForward("net"), TypeError, "symbol must be a Symbol"),
    (lambda: model_of(num_epoch=1).fit([1, 2]), TypeError, "X must be DataIter"),
    (lambda: model_of(num_epoch=1).fit(np.ones((4, 4))), ValueError, "y must be specified"),
    (lambda: model_of(num_epoch=1).fit(np.ones((4, 4)), [1] * 4), TypeError, "y must be ndarray"),
    (lambda: model_of(num_epoch=1).fit(np.ones((4, 4)), np.ones(3)), ValueError, "4 and 3"),
    (lambda: model_of(num_epoch=1).fit(np.ones((4, 4)), np.ones((4, 2))), ValueError, "1D or 2D"),
    (lambda: model_of(num_epoch=1).fit(source(), eval_data=3), TypeError, "Eval data must be"),
    (lambda: model_of(num_epoch=1).fit(source(), eval_data=(None, 3)), ValueError, "is NONE"),
    (lambda: model_of().fit(source()), ValueError, "num_epoch is None"),
    (lambda: mx.model.FeedForward(network()).predict(source()), MXNetError, "no parameters"),
    (lambda: mx.model.FeedForward(mx.sym.Variable("a") + mx.sym.Variable("a")), ValueError,
     'duplicated argument name "a"')])
def test_wrong_use_is_named(wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wrong()


@pytest.mark.parametrize("how", CPUS)
def test_the_manager_of_executors(how: str) -> None:
    net, data = network(), source()
    names = net.list_arguments()
    params = [name for name in names if name not in ("data", "softmax_label")]
    manager = mx.executor_manager.DataParallelExecutorManager(
        net, CPUS[how], data, names, params, net.list_auxiliary_states())
    start = given()
    manager.set_params(start["arg_params"], start["aux_params"])
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.3, momentum=0.9,
                                                        rescale_grad=0.1))
    metric = mx.metric.Accuracy()
    for _ in range(4):
        data.reset()
        metric.reset()
        for batch in data:
            manager.load_data_batch(batch)
            manager.forward(is_train=True)
            manager.backward()
            for i, (weights, grads) in enumerate(zip(manager.param_arrays, manager.grad_arrays,
                                                     strict=True)):
                total = sum(grads[1:], grads[0])
                for k, weight in enumerate(weights):
                    updater(2 * i + k, total, weight)
            manager.update_metric(metric, batch.label)
    assert metric.get()[1] > 0.3
    found = {name: mx.nd.zeros(value.shape) for name, value in start["arg_params"].items()}
    aux = {name: mx.nd.zeros(value.shape) for name, value in start["aux_params"].items()}
    manager.copy_to(found, aux)
    for name, value in {**found, **aux}.items():
        np.testing.assert_allclose(value.asnumpy(), answers()[f"{how}.None.{name}"], rtol=1e-4,
                                   atol=1e-5)
    assert len(manager.aux_arrays) == 2


def test_helpers_of_the_manager() -> None:
    from ndarray_rt import executor_manager as old

    assert old._split_input_slice(10, [1, 1]) == [slice(0, 5), slice(5, 10)]
    targets = [[(slice(0, 2), mx.nd.zeros((2, 3))), (slice(2, 3), mx.nd.zeros((1, 3)))]]
    x = mx.nd.arange(9).reshape((3, 3))
    old._load_data(mx.io.DataBatch([x]), targets)
    assert targets[0][1][1].asnumpy().tolist() == [[6, 7, 8]]
    with pytest.raises(ValueError, match="Expected 3, got 2"):
        old._load_data(mx.io.DataBatch([x[:2]]), targets)
    with pytest.raises(ParameterError, match="work load"):
        old.DataParallelExecutorManager(network(), CPUS["two"], source(), [], [], [], [1])


def test_the_class_is_found_by_its_older_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        assert "FeedForward" in dir(mx.model)
    assert mx.model.FeedForward.__name__ == "FeedForward"
