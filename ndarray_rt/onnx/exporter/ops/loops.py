"""Loops and branches: Scan, Loop and If."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....dtypes import DType
from ..call import Call
from ..dims import Size, Sizes
from ..inner import Tensor, closed, converted, truth
from ..table import Refused, exports


def _new(c: Call, what: str, i: int, shape: Sizes) -> Tensor:
    """A tensor that a loop's body gets for an input of the node."""
    return Tensor(c.writer.shared.name(f"{c.node.name}_{what}{i}"), c.dtype(i), shape)


def _need_same(c: Call, before: Sequence[DType], after: Sequence[Tensor]) -> None:
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new.dtype:
            raise Refused(f"its state {i} is {old} before a step and {new.dtype} behind it")


@exports("_foreach")
def foreach(c: Call) -> list[str]:
    n_data, n_states = len(c.p.in_data_locs), len(c.p.in_state_locs)
    states = [_new(c, "state", i, c.shape(i)) for i in range(n_data, n_data + n_states)]
    steps = [_new(c, "step", i, c.shape(i)[1:]) for i in range(n_data)]
    seen = [step if step.shape else _new(c, "element", i, (1,)) for i, step in enumerate(steps)]
    own = dict(enumerate([*seen, *states]))
    writer, heads = converted(c, c.p.graphs[0], c.p.places[0], own)
    outs, last = heads[:c.p.num_out_data], heads[c.p.num_out_data:]
    _need_same(c, [state.dtype for state in states], last)
    axis = c.ints(0)
    for step, element in zip(steps, seen, strict=True):
        if step is not element:  # an element of a vector has the shape (1,)
            writer.nodes.insert(0, writer.node("Unsqueeze", [step.name, axis], [element.name]))
    body = closed(c, writer, [*states, *steps], [*last, *outs])
    made = c.ops("Scan", len(heads), *[c.input(n_data + i) for i in range(n_states)],
                 *[c.input(i) for i in range(n_data)], body=body, num_scan_inputs=n_data)
    return [*made[n_states:], *made[:n_states]]


@exports("_while_loop")
def while_loop(c: Call) -> list[str]:
    """The outputs of all steps are states, which each step writes its row of: so they have all
    their rows even if there are fewer steps, or none."""
    cond, func = c.p.graphs
    shared, name = c.writer.shared, c.node.name
    variables = c.p.variables
    writer, (first,) = converted(c, cond, c.p.cond_input_locs, {})
    c.writer.nodes += writer.nodes
    begins = truth(c.writer, first, name)
    own = {i: _new(c, "variable", i, c.shape(i)) for i in variables}
    writer, heads = converted(c, func, c.p.func_input_locs, own)
    outs, new = heads[:c.p.num_out_data], heads[c.p.num_out_data:]
    _need_same(c, [own[i].dtype for i in variables], new)
    step = Tensor(shared.name(f"{name}_number"), np.dtype(np.int64), ())
    goes_on = Tensor(shared.name(f"{name}_goes_on"), np.dtype(np.bool_), ())
    place = writer.add("Reshape", [step.name, c.ints(1, 1)], name)[0] if outs else ""
    before, rows, after = [], [], []
    for i, out in enumerate(outs):
        shape: tuple[Size, ...] = (c.p.max_iterations, *out.shape)
        sources = [(c.input(k), c.shape(k)) for k in range(c.count)]
        before.append(c.op("ConstantOfShape", c.sizes(shape, *sources),
                           value=c.writer.filled(0, out.dtype)))
        rows.append(Tensor(shared.name(f"{name}_rows{i}"), out.dtype, shape))
        row = writer.add("Unsqueeze", [out.name, c.ints(0)], name)[0]
        after.append(rows[-1]._replace(
            name=writer.add("ScatterND", [rows[-1].name, place, row], name)[0]))
    test, (found,) = converted(c, cond, c.p.cond_input_locs,
                               dict(zip(variables, new, strict=True)))
    writer.nodes += test.nodes
    again = goes_on._replace(name=truth(writer, found, name))
    body = closed(c, writer, [step, goes_on, *(own[i] for i in variables), *rows],
                  [again, *new, *after])
    most = c.const(c.p.max_iterations, np.int64)
    made = c.ops("Loop", len(heads), most, begins, *[c.input(i) for i in variables], *before,
                 body=body)
    return [*made[len(new):], *made[:len(new)]]


@exports("_cond")
def cond(c: Call) -> list[str]:
    writer, (test,) = converted(c, c.p.graphs[0], c.p.cond_input_locs, {})
    c.writer.nodes += writer.nodes
    condition = truth(c.writer, test, c.node.name)
    branches = {}
    for word, graph, places in zip(("then_branch", "else_branch"), c.p.graphs[1:], c.p.places[1:],
                                   strict=True):
        inside, heads = converted(c, graph, places, {})
        branches[word] = closed(c, inside, [], heads)
    return c.ops("If", c.p.num_outputs, condition, **branches)
