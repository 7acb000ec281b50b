"""gluon.contrib.estimator: events, metrics, validation, logs, checkpoints, when training ends."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.errors import ParameterError
from ndarray_rt.gluon.contrib import estimator as est
from ndarray_rt.gluon.contrib.estimator import event_handler as handlers
from ndarray_rt.gluon.errors import Mismatch

LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
ADAM = {"learning_rate": 0.05}


def loader(count: int = 22, shift: int = 0) -> Any:
    drawn = np.random.RandomState(shift)
    data = drawn.rand(count, 4).astype("float32")
    label = data[:, :3].argmax(1).astype("float32")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size=6)


def network(seed: int = 0, ctx: Any = None) -> Any:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(8, activation="tanh", in_units=4), gluon.nn.Dense(3, in_units=8))
    mx.random.seed(seed)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    return net


def build(net: Any = None, ctx: Any = None, **options: Any) -> Any:
    net = network(ctx=ctx) if net is None else net
    trainer = gluon.Trainer(net.collect_params(), "adam", ADAM)
    made = est.Estimator(net, LOSS, trainer=trainer, context=ctx, **options)
    made.logger.handlers.clear()
    return made


def weights(net: Any) -> list[np.ndarray]:
    return [param.list_data()[0].asnumpy() for param in net.collect_params().values()]


@pytest.mark.parametrize("is_hybrid", [False, True], ids=["imperative", "hybridized"])
@pytest.mark.parametrize("ctx", [[mx.cpu()], [mx.cpu(0), mx.cpu(1)]], ids=["one", "two"])
def test_it_trains_as_a_loop_does(ctx: Any, is_hybrid: bool) -> None:
    mine = build(ctx=ctx)
    if is_hybrid:
        mine.net.hybridize()
    mine.fit(loader(), epochs=3)
    net = network(ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), "adam", ADAM)
    accuracy, mean = mx.metric.Accuracy(), mx.metric.Loss()
    for _ in range(3):
        accuracy.reset()
        mean.reset()
        for data, label in loader():
            parts = [gluon.utils.split_and_load(x, ctx) for x in (data, label)]
            with autograd.record():
                outputs = [net(x) for x in parts[0]]
                losses = [LOSS(*pair) for pair in zip(outputs, parts[1], strict=True)]
            autograd.backward(losses)
            trainer.step(len(data))
            accuracy.update(parts[1], outputs)
            mean.update(0, losses)
    for got, want in zip(weights(mine.net), weights(net), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    found = dict(metric.get() for metric in mine.train_metrics)
    assert found["training accuracy"] == accuracy.get()[1]
    assert found["training softmaxcrossentropyloss"] == pytest.approx(mean.get()[1], rel=1e-5)


def test_it_evaluates_another_network_with_another_loss() -> None:
    other = network(seed=5)
    mine = build(val_net=other, val_metrics=[mx.metric.Accuracy(), mx.metric.Loss("l1")],
                 val_loss=gluon.loss.L1Loss())
    label = mx.nd.ones((6, 3))
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(mx.nd.ones((6, 4)), label), batch_size=6)
    mine.evaluate(data, event_handlers=est.MetricHandler([mine.val_metrics[1]]))
    want = mx.nd.abs(other(mx.nd.ones((6, 4))) - 1).mean().asscalar()
    assert mine.val_metrics[1].get() == ("validation l1", pytest.approx(want, rel=1e-5))
    assert np.isnan(mine.val_metrics[0].get()[1])


class Noting(handlers.TrainBegin, handlers.TrainEnd, handlers.EpochBegin, handlers.EpochEnd,
             handlers.BatchBegin, handlers.BatchEnd):
    """Notes what it is called for; ends the epoch at a batch and training at an epoch."""

    def __init__(self, batch: int = -1, epoch: int = -1, priority: float = 0) -> None:
        self.seen: list[str] = []
        self.stops = {"batch_end": batch, "epoch_end": epoch}
        self.priority = priority

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith(("train_", "epoch_", "batch_")):
            return super().__getattribute__(name)

        def note(estimator: Any, **given: Any) -> bool:
            self.seen.append(name)
            assert set(given) == (set() if not name.startswith("batch") else
                                  {"batch"} if name == "batch_begin" else
                                  {"batch", "pred", "label", "loss"})
            return self.seen.count(name) == self.stops.get(name)
        return note


def test_events_in_their_order() -> None:
    noting = Noting()
    build().fit(loader(12), epochs=2, event_handlers=noting)
    epoch = ["epoch_begin", *["batch_begin", "batch_end"] * 2, "epoch_end"]
    assert noting.seen == ["train_begin", *epoch, *epoch, "train_end"]


@pytest.mark.parametrize(("noting", "batches", "epochs"), [
    (Noting(batch=1), 8, 4), (Noting(epoch=2), 4, 2), (Noting(), 5, 3)], ids=["b", "e", "count"])
def test_handlers_end_epochs_and_training(noting: Noting, batches: int, epochs: int) -> None:
    noting.seen.clear()
    by = {"batches": 5} if (noting.stops["batch_end"], noting.stops["epoch_end"]) == (-1, -1) else {
        "epochs": 4}
    build().fit(loader(12), event_handlers=[noting], **by)
    wanted = batches - (noting.stops["batch_end"] == 1)
    assert noting.seen.count("batch_end") == wanted
    assert noting.seen.count("epoch_end") == epochs


def test_lower_priorities_come_first() -> None:
    order: list[str] = []

    class Named(handlers.BatchEnd):
        def __init__(self, name: str, priority: float) -> None:
            self.name, self.priority = name, priority

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            order.append(self.name)

    build().fit(loader(6), epochs=1, event_handlers=[Named("last", 3), Named("first", -3000)])
    assert order == ["first", "last"]
    found = [type(one).__name__ for one in build()._prepare_default_handlers(loader(), None)]
    assert found == ["GradientUpdateHandler", "MetricHandler", "ValidationHandler",
                     "StoppingHandler", "LoggingHandler"]


def test_validation_after_epochs_and_batches() -> None:
    mine = build()
    calls: list[Any] = []
    handler = est.ValidationHandler(None, lambda **given: calls.append(given), epoch_period=2,
                                    batch_period=3)
    mine.fit(loader(12), epochs=4, event_handlers=handler, batch_axis=0)
    assert len(calls) == 2 + 2
    assert set(calls[0]) == {"val_data", "batch_axis", "event_handlers"}
    mine.fit(loader(12), val_data=loader(12, shift=1), epochs=1)
    assert mine.val_metrics[0].num_inst == 12


def lines(mine: Any) -> list[str]:
    kept: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record.getMessage())

    mine.logger.addHandler(Keep())
    return kept


def test_what_is_said() -> None:
    mine = build()
    said = lines(mine)
    mine.fit(loader(12), val_data=loader(12), epochs=1)
    assert [line.split(",")[0].split(" in ")[0].split(":")[0] for line in said] == [
        "Training begin", "Train for 1 epochs.", "[Epoch 0] Begin", "Validation Begin",
        "[Epoch 0] Finished", "[Epoch 0] Finished", "Train finished using total 0s with 1 epochs. "
        "training accuracy"]
    said.clear()
    mine.fit(loader(24), batches=4, event_handlers=est.LoggingHandler(2, mine.train_metrics))
    assert "Train for 4 batches." in said
    found = [line for line in said if "time/interval" in line]
    assert [line.split(" ")[:2] for line in found] == [["[Epoch", "0][Batch"]] * 2
    assert "[Batch 2][Samples 18]" in found[1]
    assert "training softmaxcrossentropyloss: " in found[1]


def test_it_stops_when_nothing_improves() -> None:
    mine = build()
    metric = mine.train_metrics[1]
    values = iter([3.0, 2.0, 2.5, 2.1, 1.9, 1.9, 1.85, 1.0])
    metric.get = lambda: ("loss", next(values))
    metric.get_name_value = lambda: [("loss", 0.0)]
    metric.get, kept = (lambda: ("loss", 0.0)), metric.get
    with pytest.warns(UserWarning, match="`less` operator"):
        early = est.EarlyStoppingHandler(metric, min_delta=0.1, patience=2)
    metric.get = kept
    mine.fit(loader(6), epochs=8, event_handlers=early)
    # 2.5 and 2.1 are no improvements on 2.0
    assert (early.current_epoch, early.stopped_epoch, early.best) == (4, 3, 2.0)
    assert est.EarlyStoppingHandler(mx.metric.Accuracy(), mode="max").monitor_op(2, 1)
    assert not est.EarlyStoppingHandler(mx.metric.Accuracy(), mode="min").monitor_op(2, 1)
    with (pytest.warns(RuntimeWarning, match="mode most is unknown"),
          pytest.warns(UserWarning, match="`greater` operator")):
        est.EarlyStoppingHandler(mx.metric.Accuracy(), mode="most")
    with pytest.warns(RuntimeWarning, match="accuracy is not updated"):
        build().fit(loader(6), epochs=1, event_handlers=[
            est.EarlyStoppingHandler(mx.metric.Accuracy(), mode="max")])


def test_checkpoints(tmp_path: Path) -> None:
    mine = build()
    mine.net.hybridize()
    keep = est.CheckpointHandler(str(tmp_path / "new"), "m", mine.train_metrics[0], verbose=1,
                                 save_best=True, mode="max", max_checkpoints=2)
    said = lines(mine)
    mine.fit(loader(12), epochs=12, event_handlers=keep)
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["m-best.params", "m-best.states", "m-epoch10batch22.params",
                     "m-epoch10batch22.states", "m-epoch11batch24.params",
                     "m-epoch11batch24.states", "m-symbol.json"]
    assert any("improved from" in line for line in said)
    assert keep.best == max(keep.best, mine.train_metrics[0].get()[1])
    net = gluon.SymbolBlock.imports(str(tmp_path / "new/m-symbol.json"), ["data"])
    assert net.collect_params()
    other = network(seed=9)
    other.load_parameters(str(tmp_path / "new/m-epoch11batch24.params"))
    for got, want in zip(weights(other), weights(mine.net), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("by", ["epochs", "batches"])
def test_resumed_training_equals_training_at_once(by: str, tmp_path: Path) -> None:
    whole = build()
    whole.fit(loader(12), **{by: 6})
    options: dict[str, Any] = {"model_dir": str(tmp_path), "max_checkpoints": 3}
    options |= {"epoch_period": 1} if by == "epochs" else {"epoch_period": None, "batch_period": 1}
    build().fit(loader(12), event_handlers=est.CheckpointHandler(**options),
                **{by: 4})
    again = build(network(seed=7))
    keep = est.CheckpointHandler(**options, resume_from_checkpoint=True)
    again.fit(loader(12), event_handlers=keep, **{by: 6})
    assert (again.max_epoch if by == "epochs" else again.max_batch) == 2
    for got, want in zip(weights(again.net), weights(whole.net), strict=True):
        np.testing.assert_array_equal(got, want)
    assert len(list(tmp_path.glob("*.params"))) == 3
    with pytest.raises(ParameterError, match="maximum number"):
        build().fit(loader(12), event_handlers=est.CheckpointHandler(
            **options, resume_from_checkpoint=True), **{by: 2})


def test_what_can_not_be_resumed(tmp_path: Path) -> None:
    def fit(**options: Any) -> None:
        build().fit(loader(6), epochs=2, event_handlers=est.CheckpointHandler(
            str(tmp_path), resume_from_checkpoint=True, **options))

    with pytest.raises(Mismatch, match="same type of period"):
        fit(batch_period=1)
    fit()  # nothing is there: from scratch
    (tmp_path / "model-epoch1batch2.states").unlink()
    with pytest.raises(Mismatch, match=r"model-epoch1batch2.states does not exist"):
        build().fit(loader(6), epochs=9, event_handlers=est.CheckpointHandler(
            str(tmp_path), resume_from_checkpoint=True))
    (tmp_path / "model-epoch1batch.params").write_text("")
    with pytest.raises(ParameterError, match=r"'model-epoch1batch\.params'"):
        fit()


def test_defaults_and_their_warnings() -> None:
    net = gluon.nn.Dense(3)
    with pytest.warns(UserWarning, match="No trainer specified"):
        made = est.Estimator(net, LOSS)
    assert made.context == [mx.cpu()]
    assert [metric.name for metric in made.train_metrics + made.val_metrics] == [
        "training accuracy", "training softmaxcrossentropyloss",
        "validation accuracy", "validation softmaxcrossentropyloss"]
    with pytest.warns(UserWarning, match="already fully initialized"):
        build(initializer=mx.init.One())
    both = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.F1()])
    assert len(build(train_metrics=both).train_metrics) == 2


class Halves:
    """A batch processor that sees half of each batch."""

    def __init__(self) -> None:
        self.whole = est.BatchProcessor()

    def fit_batch(self, estimator: Any, batch: Any, axis: int) -> Any:
        return self.whole.fit_batch(estimator, [x[:3] for x in batch], axis)

    def evaluate_batch(self, estimator: Any, batch: Any, axis: int) -> Any:
        return self.whole.evaluate_batch(estimator, [x[:3] for x in batch], axis)


def test_a_batch_processor_of_ones_own() -> None:
    mine = build(batch_processor=Halves())
    mine.fit(loader(12), val_data=loader(6), epochs=1)
    assert [mine.train_metrics[0].num_inst, mine.val_metrics[0].num_inst] == [6, 3]


@pytest.mark.parametrize(("wrong", "error", "text"), [
    (lambda: est.Estimator(network(), "l2"), ValueError, "loss must be a Loss"),
    (lambda: build(train_metrics="acc"), ValueError, "metrics must be a Metric"),
    (lambda: build(val_loss=3), ValueError, "loss must be a Loss"),
    (lambda: est.Estimator(network(), LOSS, context="cpu"), ValueError, "context must be"),
    (lambda: est.Estimator(network(), LOSS, context=[mx.gpu(0)]), AssertionError,
     r"gpu\(0\) is not available"),
    (lambda: est.Estimator(network(), LOSS, trainer="sgd"), ValueError, "Gluon Trainer"),
    (lambda: build(batch_processor=object()), ValueError, "Batch Processor must contain"),
    (lambda: build().fit([1], epochs=1), ValueError, "only support input as Gluon DataLoader"),
    (lambda: build().evaluate([1]), ValueError, "only support input as Gluon DataLoader"),
    (lambda: build().fit(loader()), ValueError, "one and only one"),
    (lambda: build().fit(loader(), epochs=1, batches=2), ValueError, "one and only one"),
    (lambda: build().fit(loader(), epochs=1, event_handlers=[3]), ValueError, "handlers must be"),
    (lambda: build().fit(loader(), epochs=1, event_handlers=est.MetricHandler(
        mx.metric.Accuracy())), ValueError, "MetricHandler refers to a metric instance"),
    (lambda: build().fit(gluon.data.DataLoader(gluon.data.SimpleDataset([]), batch_size=1),
                         batches=1), ValueError, "no batch"),
    (lambda: est.LoggingHandler("batch"), ValueError, "log_interval must be"),
    (lambda: est.EarlyStoppingHandler("acc"), ValueError, "as monitor"),
    (lambda: est.EarlyStoppingHandler(mx.metric.CompositeEvalMetric()), ValueError,
     "CompositeEvalMetric is not supported"),
    (lambda: est.CheckpointHandler(".", save_best=True), ValueError, "as monitor")])
def test_wrong_use_is_named(wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        wrong()
