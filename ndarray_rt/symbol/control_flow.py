"""sym.contrib.foreach, while_loop and cond: nodes that contain graphs made by Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ParameterError, ShapeError, TypeMismatch, shown
from ..op.registry import find
from .compose import attr_string, check_mutated
from .create import call
from .naming import AttrScope, current_attrs, current_names
from .nested import check_functions, flatten, limit_of, pair_of, regroup
from .node import Entry, Node
from .subgraph import KEY, Cut
from .symbol import Symbol

_SCOPE = "__subgraph_name__"


class UnusedInput(ParameterError, AssertionError):
    """Data, states or loop variables that a function does not use; MXNet asserts that it does."""


def _unique(name: str) -> str:
    outer = current_attrs().get(None).get(_SCOPE, "")
    name = f"{outer}${name}" if outer else name
    AttrScope._subgraph_names[name] += 1
    return f"{name}{AttrScope._subgraph_names[name] - 1}"


def _variables(symbols: Sequence[Symbol]) -> list[Symbol]:
    """A variable inside the graph for each symbol outside; called in the scope of the graph."""
    made = []
    for symbol in symbols:
        entry = symbol.entries[0]
        attrs = current_attrs().get(None)
        made.append(Symbol([Entry(Node(None, f"{entry.node.name}-{entry.index}", dict(attrs)), 0)]))
    return made


def _flat(value: Any, what: str) -> tuple[list[Symbol], Any]:
    """Symbols with one output each, in order; one with several outputs counts as a list."""
    flat, form = flatten(_singles(value), Symbol, what)
    return flat, form


def _singles(value: Any) -> Any:
    if isinstance(value, Symbol):
        return value if len(value.entries) == 1 else list(value)
    if isinstance(value, (list, tuple)):
        return [_singles(item) for item in value]
    return value


def _outputs(symbols: Sequence[Symbol], inside: Callable[[Node], bool],
             own: Sequence[Symbol]) -> list[Entry]:
    """The outputs of a graph, all computed inside and each once; others are copied by a node."""
    given = {variable.entries[0].node for variable in own}
    seen: set[Entry] = set()
    made = []
    for symbol in symbols:
        entry = symbol.entries[0]
        if entry.node in given or entry.node.is_variable or not inside(entry.node) or entry in seen:
            entry = call("_copy", symbol, hint="identity").entries[0]
        seen.add(entry)
        made.append(entry)
    return made


class _Made:
    """A graph made by a function, with its inputs from outside."""

    def __init__(self, name: str, outer: Sequence[Symbol], form: Any,
                 function: Callable[[Any], tuple[Any, ...]]) -> None:
        mark = _unique(name)
        with AttrScope(**{_SCOPE: mark}):
            own = _variables(outer)
            parts = function(regroup(own, form))
            self.parts = [_flat(part, f"{name}: what the function gives") for part in parts]
            flat = [symbol for part, _ in self.parts for symbol in part]
            heads = _outputs(flat, lambda node: node.attrs.get(_SCOPE) == mark, own)
        nodes = [variable.entries[0].node for variable in own]
        self.cut = Cut(heads, mark, _SCOPE, nodes)
        # variable of the graph -> the entry outside that it stands for
        self.sources: dict[Node, Entry] = dict(self.cut.taken)
        self.sources.update({node: symbol.entries[0]
                             for node, symbol in zip(nodes, outer, strict=True)})
        self.own = nodes

    @property
    def variables(self) -> list[Node]:
        return self.cut.graph.variables

    def place_of(self, node: Node) -> int:
        """The number of this variable in the graph, or -1."""
        return self.variables.index(node) if node in self.variables else -1


def _node(op_name: str, graphs: Sequence[_Made], inputs: Sequence[Entry],
          attrs: Mapping[str, Any]) -> list[Symbol]:
    op = find(op_name)
    given = {"num_args": len(inputs) + len(graphs), **attrs}
    text = {key: attr_string(value) for key, value in given.items()}
    params = op.params.parse({**text, KEY: [made.cut.graph for made in graphs]}, op_name)
    name = current_names().get(None, op_name)
    text.update(current_attrs().get(None))
    node = Node(op, name, text, params, inputs)
    check_mutated(node)
    return list(Symbol(node.outputs))


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any,
            name: str = "foreach") -> tuple[Any, Any]:
    """A loop over axis 0 of `data` as one node.

    `body(step, states)` gives (outputs, new states); it is called once. Returns the outputs of all
    steps, joined along a new axis 0, and the last states. `data`, states and outputs are symbols
    or nested lists of them.
    """
    check_functions("foreach", body=body)
    flat_data, data_form = _flat(data, "foreach: data")
    flat_states, state_form = _flat(init_states, "foreach: init_states")
    if not flat_data:
        raise ParameterError("foreach: data is empty")

    def function(values: Any) -> tuple[Any, Any]:
        return pair_of(body(values[0], values[1]), "foreach: body")
    made = _Made(name, [*flat_data, *flat_states], [data_form, state_form], function)
    (outputs, out_form), (states, form) = made.parts
    if form != state_form:
        raise ShapeError("foreach: the states that body gives are nested otherwise than "
                         "init_states")
    locs = [made.place_of(node) for node in made.own]
    if -1 in locs:
        unused = made.own[locs.index(-1)].name
        raise UnusedInput(f"foreach: body does not use {unused!r}: all data and all states must "
                          "be used")
    remain = [i for i, node in enumerate(made.variables) if node not in made.own]
    inputs = [made.sources[node] for node in made.own]
    inputs += [made.sources[made.variables[i]] for i in remain]
    found = _node("_foreach", [made], inputs, {
        "num_outputs": len(outputs) + len(states), "num_out_data": len(outputs),
        "in_state_locs": locs[len(flat_data):], "in_data_locs": locs[:len(flat_data)],
        "remain_locs": remain})
    return (regroup(found[:len(outputs)], out_form), regroup(found[len(outputs):], form))


def _union(graphs: Sequence[_Made]) -> tuple[list[Entry], list[list[int]]]:
    """The inputs of all graphs, each once, and the numbers of those that each graph takes.

    A loop variable changes and so gets an input of its own, even if a graph also takes its initial
    value.
    """
    found: dict[Entry | int, Entry] = {}
    keys: list[list[Entry | int]] = []
    for made in graphs:
        keys.append([made.own.index(node) if node in made.own else made.sources[node]
                     for node in made.variables])
        for key, node in zip(keys[-1], made.variables, strict=True):
            found.setdefault(key, made.sources[node])
    numbers = {key: i for i, key in enumerate(found)}
    return list(found.values()), [[numbers[key] for key in place] for place in keys]


def while_loop(cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any,
               max_iterations: int | None = None, name: str = "while_loop") -> tuple[Any, Any]:
    """A loop that runs as long as `cond(*loop_vars)` is not 0, as one node.

    `func(*loop_vars)` gives (outputs, new loop_vars). Returns the outputs of all steps, joined
    along a new axis 0 of length `max_iterations` and 0 where no step was, and the last loop_vars.
    """
    check_functions("while_loop", cond=cond, func=func)
    limit = limit_of(max_iterations)
    flat, form = _flat(loop_vars, "while_loop: loop_vars")
    if not flat:
        raise ParameterError("while_loop: loop_vars is empty")

    def arguments(values: Any) -> Any:
        return [values] if form is None else values

    def step(values: Any) -> tuple[Any, Any]:
        outputs, new = pair_of(func(*arguments(values)), "while_loop: func")
        return [] if outputs is None else outputs, [] if new is None else new
    tests = _Made(f"{name}_cond", flat, form, lambda values: (cond(*arguments(values)),))
    steps = _Made(f"{name}_func", flat, form, step)
    (outputs, out_form), (new, _) = steps.parts
    if len(new) != len(flat):
        raise ShapeError(f"while_loop: func gave {len(new)} loop_vars, expected {len(flat)}")
    if len(tests.parts[0][0]) != 1:
        raise ShapeError("while_loop: cond must give one symbol")
    locs = [steps.place_of(node) for node in steps.own]
    if -1 in locs:
        raise UnusedInput(f"while_loop: func does not use its loop_var {locs.index(-1)}: all of "
                          "them must be used")
    inputs, (cond_locs, func_locs) = _union([tests, steps])
    found = _node("_while_loop", [tests, steps], inputs, {
        "num_outputs": len(outputs) + len(new), "num_out_data": len(outputs),
        "max_iterations": limit, "cond_input_locs": cond_locs,
        "func_input_locs": func_locs, "func_var_locs": locs})
    return (regroup(found[:len(outputs)], out_form), regroup(found[len(outputs):], form))


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any],
         name: str = "cond") -> Any:
    """What `then_func()` gives where `pred` is not 0, else what `else_func()` gives; one node."""
    if not isinstance(pred, Symbol) or len(pred.entries) != 1:
        raise TypeMismatch(f"cond: pred got {shown(pred)}, expected a Symbol of one output")
    check_functions("cond", then_func=then_func, else_func=else_func)
    test = _Made(f"{name}_pred", [], [], lambda values: (pred,))
    then = _Made(f"{name}_then", [], [], lambda values: (then_func(),))
    other = _Made(f"{name}_else", [], [], lambda values: (else_func(),))
    (outputs, form), = then.parts
    if len(other.parts[0][0]) != len(outputs):
        raise ShapeError(f"cond: then_func gave {len(outputs)} output(s), else_func "
                         f"{len(other.parts[0][0])}")
    inputs, (cond_locs, then_locs, else_locs) = _union([test, then, other])
    found = _node("_cond", [test, then, other], inputs, {
        "num_outputs": len(outputs), "cond_input_locs": cond_locs, "then_input_locs": then_locs,
        "else_input_locs": else_locs})
    return regroup(found, form)


FUNCTIONS = {"foreach": foreach, "while_loop": while_loop, "cond": cond}
