"""Callbacks, checkpoints and monitors."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError, TypeMismatch


def batch(nbatch: int, metric: Any = None, epoch: int = 2) -> Any:
    return SimpleNamespace(epoch=epoch, nbatch=nbatch, eval_metric=metric, locals={})


def metric(value: float = 0.5) -> Any:
    made = mx.metric.MAE()
    made.update([mx.nd.zeros((1,))], [mx.nd.full((1,), value)])
    return made


def said(caplog: Any) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture(autouse=True)
def _all_is_said(caplog: Any) -> None:
    caplog.set_level(logging.INFO)


def test_speedometer(caplog: Any) -> None:
    made, counted = mx.callback.Speedometer(10, frequent=2), metric()
    for count in range(5):
        made(batch(count, counted))
    assert len(said(caplog)) == 2
    assert said(caplog)[0].startswith("Epoch[2] Batch [0-2]\tSpeed: ")
    assert said(caplog)[0].endswith("samples/sec\tmae=0.500000")
    assert said(caplog)[1].endswith("\tmae=nan")  # its local part was reset
    made = mx.callback.Speedometer(10, frequent=1, auto_reset=False)
    for count in (5, 6, 0, 1):
        made(batch(count))
    assert said(caplog)[2].startswith("Iter[2] Batch [6]\tSpeed: ")
    assert len(said(caplog)) == 4


def test_metrics_are_logged(caplog: Any) -> None:
    counted = metric()
    log = mx.callback.log_train_metric(2, auto_reset=True)
    for count in range(1, 4):
        log(batch(count, counted))
    assert said(caplog) == ["Iter[2] Batch[2] Train-mae=0.500000"]
    assert counted.num_inst == 0
    mx.callback.LogValidationMetricsCallback()(batch(0, metric(0.25)))
    assert said(caplog)[-1] == "Epoch[2] Validation-mae=0.250000"
    mx.callback.ProgressBar(total=4, length=8)(batch(1))
    assert said(caplog)[-1] == "[==------] 25%\r"


def test_checkpoints(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"),
                           name="bn")
    args = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros((2,))}
    aux = {"bn_moving_mean": mx.nd.full((2,), 3)}
    save = mx.callback.do_checkpoint(prefix, period=2)
    for epoch in range(4):
        save(epoch, net, args, aux)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net-0002.params", "net-0004.params", "net-symbol.json"]
    symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, 4)
    assert symbol.tojson() == net.tojson()
    assert arg_params.keys() == args.keys()
    np.testing.assert_array_equal(aux_params["bn_moving_mean"].asnumpy(), [3, 3])
    calls = []
    module = SimpleNamespace(save_checkpoint=lambda *given: calls.append(given))
    save = mx.callback.module_checkpoint(module, prefix, period=3, save_optimizer_states=True)
    for epoch in range(4):
        save(epoch)
    assert calls == [(prefix, 3, True)]


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    mx.nd.save(f"{prefix}-0001.params", {"weight": mx.nd.ones((1,))})
    mx.nd.save(f"{prefix}-0002.params", [mx.nd.ones((1,))])
    mx.nd.save(f"{prefix}-0003.params", [])
    for epoch, text in ((1, "name 'weight'"), (2, "have no names")):
        with pytest.raises(ParameterError, match=text):
            mx.model.load_params(prefix, epoch)
    assert mx.model.load_params(prefix, 3) == ({}, {})


def test_monitor(caplog: Any) -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc", no_bias=True)
    exe = net.simple_bind(mx.cpu(), data=(1, 4), grad_req="null")
    exe.arg_dict["fc_weight"][:] = 2
    monitor = mx.mon.Monitor(2, pattern="fc.*", sort=True)
    monitor.install(exe)
    found = []
    for _ in range(3):
        monitor.tic()
        exe.forward(data=mx.nd.ones((1, 4)))
        found.append(monitor.toc())
    assert [len(one) for one in found] == [2, 0, 2]
    assert found[0] == [(1, "fc_output", "8.0\t"), (1, "fc_weight", "2.0\t")]
    monitor = mx.monitor.Monitor(1, lambda x: [x.max(), x.min()], monitor_all=True)
    monitor.install(exe)
    monitor.tic()
    exe.forward()
    monitor.toc_print()
    assert any("fc_output" in line and "8.0\t8.0" in line for line in said(caplog))


def test_a_monitor_whose_function_gives_no_array() -> None:
    exe = mx.sym.Variable("data").simple_bind(mx.cpu(), data=(1,), grad_req="null")
    monitor = mx.monitor.Monitor(1, lambda x: 3.0)
    monitor.install(exe)
    monitor.tic()
    exe.forward()
    with pytest.raises(TypeMismatch, match="gave a float of 'data'"):
        monitor.toc()
