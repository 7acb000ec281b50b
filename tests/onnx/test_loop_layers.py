"""Loops that are layers of LSTM cells are computed as such, and give what their turns give."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from ndarray_rt.onnx import Model, load
from ndarray_rt.onnx.ops import control
from ndarray_rt.symbol.node import topological

from .helpers import model_of, run_thrice

FEATURES = 6


def text(size: int, steps: int, select: str = "cast", output: str = "zeros", order: str = "ifgo",
         counts: int = 1, squash: str = "Tanh", first_output: float = 0.0,
         cell_mask: str = "m", trips: str = "") -> str:
    """A loop over the rows of x, with or without a mask."""
    def chosen(name: str, new: str, old: str, mask: str) -> str:
        if select == "none":
            return f"{name} = Identity({new})"
        if select == "where":
            return f"{name} = Where({mask}, {new}, {old})"
        return f"""{name}_n = Not({mask})
            {name}_nf = Cast<to = 1>({name}_n)
            {name}_mf = Cast<to = 1>({mask})
            {name}_a = Mul({old}, {name}_nf)
            {name}_b = Mul({name}_mf, {new})
            {name} = Add({name}_b, {name}_a)"""
    parts = ", ".join(f"part_{letter}" for letter in order)
    old_output = {"zeros": "zero", "holds": "out", "state": "h"}[output]
    return f"""g (float[{steps}, n, {FEATURES}] x, bool[{steps}, n, 1] mask, float[n, {size}] h0,
                  float[n, {size}] c0, float[n, {size}] none)
        => (float[{steps}, n, {size}] y, float[n, {size}] hn, float[n, {size}] cn,
            float[n, {size}] last, int64 at)
        <float[{FEATURES}, {4 * size}] w, float[{size}, {4 * size}] r, float[{4 * size}] b> {{
        true = Constant<value = bool {{1}}>()
        start = Constant<value = int64 {{0}}>()
        steps = Constant<value = int64 {{{steps}}}>()
        one = Constant<value = int64 {{{counts}}}>()
        out0 = Constant<value = float {{{first_output}}}>()
        shape = Shape(h0)
        zero = ConstantOfShape(shape)
        out1 = Expand(out0, shape)
        at, hn, cn, last, y = Loop({trips}, true, start, h0, c0, out1)<body = step (
            int64 turn, bool going, int64 i, float[n, {size}] h, float[n, {size}] c,
            float[n, {size}] out) => (bool more, int64 i2, float[n, {size}] h2,
            float[n, {size}] c2, float[n, {size}] out2, float[n, {size}] row) {{
            i2 = Add(i, one)
            more = Less(i2, steps)
            xt = Gather(x, i)
            m = Gather(mask, i)
            other = Not(m)
            xw = MatMul(xt, w)
            hr = MatMul(h, r)
            sum = Add(hr, xw)
            all = Add(sum, b)
            {parts} = Split<axis = 1>(all)
            gi = Sigmoid(part_i)
            gf = Sigmoid(part_f)
            gg = {squash}(part_g)
            go = Sigmoid(part_o)
            kept = Mul(c, gf)
            added = Mul(gi, gg)
            cell = Add(kept, added)
            squashed = Tanh(cell)
            hidden = Mul(squashed, go)
            {chosen("h2", "hidden", "h", "m")}
            {chosen("c2", "cell", "c", cell_mask)}
            {chosen("out2", "hidden", old_output, "m")}
            row = Identity(out2)
        }}>
    }}"""


def model(size: int, steps: int, **how: Any) -> Any:
    rng = np.random.default_rng(size + steps)
    made = model_of(text(size, steps, **how), opset=13)
    for info, shape in (("w", (FEATURES, 4 * size)), ("r", (size, 4 * size)), ("b", (4 * size,))):
        array = rng.uniform(-0.6, 0.6, shape).astype(np.float32)
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, info))
        for old in [one for one in made.graph.initializer if one.name == info][:-1]:
            made.graph.initializer.remove(old)
        for old in [one for one in made.graph.input if one.name == info]:
            made.graph.input.remove(old)
    return made


def inputs(size: int, steps: int, batch: int) -> dict[str, Any]:
    rng = np.random.default_rng(batch)
    return {"x": rng.uniform(-1, 1, (steps, batch, FEATURES)).astype(np.float32),
            "mask": rng.uniform(size=(steps, batch, 1)) < 0.7,
            **{name: rng.uniform(-1, 1, (batch, size)).astype(np.float32)
               for name in ("h0", "c0", "none")}}


def in_turns(made: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the turns give, one by one."""
    with monkeypatch.context() as context:
        context.setattr(control, "layer_of", lambda *args: None)
        return load(made)(given)


def layers(loaded: Model) -> list[str]:
    """The recurrent layers in the graphs of the last run."""
    return [node.op.name for segment in loaded._used((), {}).segments()
            for node in topological(segment.executor.symbol.entries)
            if node.op is not None and node.op.name in ("RNN", "_masked_RNN")]


@pytest.mark.parametrize("batch", [1, 3, 6])
@pytest.mark.parametrize("size", [5, 32])
@pytest.mark.parametrize("how", [
    {}, {"select": "where"}, {"select": "none", "output": "state"}, {"output": "state"},
    {"order": "ogfi"}, {"select": "where", "output": "state"}], ids=str)
def test_layers(how: dict[str, Any], size: int, batch: int,
                monkeypatch: pytest.MonkeyPatch) -> None:
    made, given = model(size, 7, **how), inputs(size, 7, batch)
    loaded = load(made)
    run_thrice(loaded, given, in_turns(made, given, monkeypatch), rtol=1e-4, atol=1e-5)
    assert layers(loaded) == ["RNN" if how.get("select") == "none" else "_masked_RNN"]


def test_outputs_that_hold_what_was_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """They begin at 0 as the state has to, so that both are one."""
    made, given = model(32, 7, output="holds"), inputs(32, 7, 2)
    given["h0"][:] = 0
    loaded = load(made)
    run_thrice(loaded, given, in_turns(made, given, monkeypatch), rtol=1e-4, atol=1e-5)
    assert not layers(loaded)
    del made.graph.input[2]
    zeros = onnx.numpy_helper.from_array(np.zeros((2, 32), np.float32), "h0")
    made.graph.initializer.append(zeros)
    del given["h0"]
    loaded = load(made)
    run_thrice(loaded, given, in_turns(made, given, monkeypatch), rtol=1e-4, atol=1e-5)
    assert layers(loaded) == ["_masked_RNN"]


def test_more_turns_than_a_plan_holds_and_masks_of_all_kinds() -> None:
    size, steps = 32, 150
    made = model(size, steps)
    loaded, given = load(made), inputs(size, steps, 2)
    weights = {one.name: onnx.numpy_helper.to_array(one).astype(np.float64)
               for one in made.graph.initializer}
    for mask in (given["mask"], np.zeros_like(given["mask"]), np.ones_like(given["mask"])):
        h, c = given["h0"].astype(np.float64), given["c0"].astype(np.float64)
        rows, out = [], np.zeros_like(h)
        for x, m in zip(given["x"], mask, strict=True):
            i, f, g, o = np.split(x @ weights["w"] + h @ weights["r"] + weights["b"], 4, 1)
            i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
            new_c = f * c + i * np.tanh(g)
            new_h = o * np.tanh(new_c)
            h, c, out = np.where(m, new_h, h), np.where(m, new_c, c), np.where(m, new_h, 0)
            rows.append(out)
        wanted = [one.astype(np.float32) for one in (np.stack(rows), h, c, out)]
        run_thrice(loaded, {**given, "mask": mask}, [*wanted, np.asarray(steps)], rtol=1e-4,
                   atol=1e-5)
    assert layers(loaded) == ["_masked_RNN"]


@pytest.mark.parametrize("how", [
    {"squash": "Sigmoid"}, {"squash": "Relu"}, {"cell_mask": "other"}, {"counts": 2},
    {"output": "holds", "first_output": 1.0}], ids=str)
def test_what_is_no_layer(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made, given = model(16, 6, **how), inputs(16, 6, 2)
    if how.get("counts"):
        made.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 3
    loaded = load(made)
    run_thrice(loaded, given, in_turns(made, given, monkeypatch), rtol=1e-4, atol=1e-5)
    assert not layers(loaded)


@pytest.mark.parametrize("select", ["where", "none"])
def test_no_steps(select: str) -> None:
    """What is gathered has no rows, of the shape that they would have."""
    made, given = model(32, 0, select=select, trips="steps"), inputs(32, 0, 2)
    zeros = np.zeros((2, 32), np.float32)
    run_thrice(load(made), given, [np.zeros((0, 2, 32), np.float32), given["h0"], given["c0"],
                                   zeros, np.asarray(0)])
