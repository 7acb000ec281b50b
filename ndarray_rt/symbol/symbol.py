"""Symbol: outputs of a graph, as users hold them. Runs nothing; binding is a hook.

Arithmetic is in arithmetic.py, methods that are operators in methods.py; both install themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import MXNetError, NdrtError, ParameterError, TypeMismatch
from ..markup import paragraph, table
from . import graph_json, hooks
from .compose import (
    HIDDEN_KEYS,
    arguments_and_aux,
    copy_graph,
    hidden_key,
    output_name,
    parse_params,
    replace_variables,
    single_entry,
    variables,
)
from .debug_text import debug_text
from .gradient import gradient_graph
from .infer_public import Shapes, Types, infer_shape, infer_type
from .node import Entry, Node, topological

# most nodes in a symbol's table in a notebook
MOST_SHOWN = 200


class NotImplementedForSymbol(NdrtError, NotImplementedError):
    """Only arrays support this: a symbol has no values."""


class Symbol:
    """One or several outputs of a graph of operators.

    Symbols made from others share their nodes.
    """

    __slots__ = ("__weakref__", "_entries")

    # makes NumPy leave `numpy_scalar + symbol` to this class
    __array_priority__ = 1000.0
    __array_ufunc__ = None

    if TYPE_CHECKING:
        # installed by arithmetic.py and, found by name, by methods.py
        def __add__(self, other: Any) -> Symbol: ...
        def __radd__(self, other: Any) -> Symbol: ...
        def __sub__(self, other: Any) -> Symbol: ...
        def __rsub__(self, other: Any) -> Symbol: ...
        def __mul__(self, other: Any) -> Symbol: ...
        def __rmul__(self, other: Any) -> Symbol: ...
        def __truediv__(self, other: Any) -> Symbol: ...
        def __rtruediv__(self, other: Any) -> Symbol: ...
        def __floordiv__(self, other: Any) -> Symbol: ...
        def __rfloordiv__(self, other: Any) -> Symbol: ...
        def __mod__(self, other: Any) -> Symbol: ...
        def __rmod__(self, other: Any) -> Symbol: ...
        def __pow__(self, other: Any) -> Symbol: ...
        def __rpow__(self, other: Any) -> Symbol: ...
        def __eq__(self, other: Any) -> Symbol: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Symbol: ...  # type: ignore[override]
        def __gt__(self, other: Any) -> Symbol: ...
        def __ge__(self, other: Any) -> Symbol: ...
        def __lt__(self, other: Any) -> Symbol: ...
        def __le__(self, other: Any) -> Symbol: ...
        def __neg__(self) -> Symbol: ...
        def __abs__(self) -> Symbol: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = list(entries)

    # ---- outputs ----------------------------------------------------------------------------

    @property
    def entries(self) -> list[Entry]:
        """The outputs as entries of the graph."""
        return list(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return iter([Symbol([entry]) for entry in self._entries])

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("a Symbol has no truth value: it has no values yet")

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """An output by number or by its name in `list_outputs`; a slice gives a group.

        Raises IndexError, and ParameterError (a ValueError) for an unknown or ambiguous name.
        """
        if isinstance(index, slice):
            return group(list(self)[index])
        if isinstance(index, str):
            found = [i for i, name in enumerate(self.list_outputs()) if name == index]
            if len(found) != 1:
                raise ParameterError(f"there {'are several outputs' if found else 'is no output'} "
                                     f"named {index!r}{self._output_hint(index)}")
            index = found[0]
        if not isinstance(index, int):
            raise TypeMismatch(f"outputs of a Symbol are found by int, str or slice, got {index!r}")
        if not -len(self._entries) <= index < len(self._entries):
            raise IndexError(f"output {index} of a Symbol with {len(self._entries)} output(s)")
        return Symbol([self._entries[index]])

    def _output_hint(self, name: str) -> str:
        close = [n for n in self.list_outputs() if name in n or n in name]
        return f"; there is {', '.join(close[:8])}" if close else ""

    # ---- names and attributes -----------------------------------------------------------------

    def _only_node(self) -> Node | None:
        """The node, if all outputs belong to one."""
        nodes = {entry.node for entry in self._entries}
        return self._entries[0].node if len(nodes) == 1 else None

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group."""
        node = self._only_node()
        return None if node is None else node.name

    def attr(self, key: str) -> str | None:
        """An attribute as a string, None when it is not set (or this is a group)."""
        node = self._only_node()
        if node is None:
            return None
        if key == "name":
            return node.name
        if key == "op_name":
            return "null" if node.op is None else node.op.name
        if key == "_value_index":
            return ", ".join(str(entry.index) for entry in self._entries)
        found = node.attrs.get(key)
        return node.attrs.get(f"__{key}__") if found is None and key in HIDDEN_KEYS else found

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node."""
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) was replaced by attr_dict()")
        return _shown(self._entries[0].node.attrs) if self._entries else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of each node that has some, by the node's name."""
        found: dict[str, dict[str, str]] = {}
        for node in topological(self._entries):
            if node.attrs:
                found.setdefault(node.name, {}).update(_shown(node.attrs))
        return found

    def _set_attr(self, **kwargs: str) -> None:
        """Sets attributes of the node; parameters of its operator are parsed again.

        Raises ValueError for values that are not strings, ParameterError for bad parameters.
        """
        node = self._only_node()
        if node is None:
            raise MXNetError("attributes are set on one node, not on a group")
        new = dict(node.attrs)
        name = node.name
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attribute {key!r} got {value!r}: attributes are strings")
            if key == "name":
                name = value
            else:
                new[_exact_hidden_key(key)] = value
        if node.op is not None:
            params = parse_params(node.op, new, name)
            if len(node.op.output_names(params)) != node.num_outputs:
                raise MXNetError(f'node "{name}": an attribute would change its number of outputs')
            node.params = params
        node.attrs, node.name = new, name

    # ---- the graph ----------------------------------------------------------------------------

    def list_outputs(self) -> list[str]:
        """Names of the outputs: `<node>_output`, or as the operator calls them."""
        return [output_name(entry) for entry in self._entries]

    def list_arguments(self) -> list[str]:
        """Names of the variables that operators only read, in order."""
        return [node.name for node in arguments_and_aux(self._entries)[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write to, such as moving averages."""
        return [node.name for node in arguments_and_aux(self._entries)[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables, in order."""
        return [node.name for node in variables(self._entries)]

    def get_internals(self) -> Symbol:
        """All visible outputs of all nodes as one group: `get_internals()["fc1_output"]`."""
        found: list[Entry] = []
        for node in topological(self._entries):
            visible = (1 if node.op is None or node.params is None
                       else node.op.num_visible(node.params))
            found += node.outputs[:visible]
        return Symbol(found)

    def get_children(self) -> Symbol | None:
        """The inputs of the output nodes as a group, None if there are none."""
        seen: list[Node] = []
        for entry in self._entries:
            if entry.node not in seen:
                seen.append(entry.node)
        found = [entry for node in seen for entry in node.inputs]
        return Symbol(found) if found else None

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """A copy of this graph with symbols in place of variables.

        >>> net = FullyConnected(name="fc2", num_hidden=10)            # doctest: +SKIP
        >>> net(fc2_data=FullyConnected(name="fc1", num_hidden=20))    # doctest: +SKIP

        By name, or by position in the order of `list_inputs`; `name=` renames the node.
        """
        made = self.__copy__()
        made._compose(*args, **kwargs)
        return made

    def _compose(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> None:
        """Replaces variables of this graph itself by symbols."""
        if args and kwargs:
            raise TypeMismatch("compose takes symbols by position or by name, not both")
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Symbol):
                raise TypeMismatch(f"compose takes symbols, got {value!r}")
        named = {key: single_entry(s._entries, f"compose: {key}") for key, s in kwargs.items()}
        placed = [single_entry(s._entries, f"compose: input {i}") for i, s in enumerate(args)]
        if name and self._entries:
            self._entries[0].node.name = name
        self._entries = replace_variables(self._entries, placed, named)

    def __copy__(self) -> Symbol:
        return Symbol(copy_graph(self._entries))

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    def __getstate__(self) -> dict[str, str]:
        return {"json": self.tojson(remove_amp_cast=False)}

    def __setstate__(self, state: Mapping[str, str]) -> None:
        self._entries = graph_json.load_graph(state["json"])

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator of the first output alone, on new variables, with all its outputs.

        For a variable, the variable itself. MXNet's mixed-precision tools call it by this name.
        """
        node = self._entries[0].node
        if node.op is None or node.params is None:
            return Symbol([self._entries[0]])
        names = (*node.op.input_names(node.params), *node.op.aux_names(node.params))
        inputs = [Entry(Node(None, f"{node.name}_{name}"), 0) for name in names]
        made = Node(node.op, node.name, dict(node.attrs), node.params, inputs)
        return Symbol(made.outputs[:node.op.num_visible(node.params)])

    def gradient(self, wrt: Sequence[str]) -> Symbol:
        """Gradients of the sum of the outputs for variables by name, as a group.

        Raises ParameterError for an unknown variable, MXNetError if nothing depends on it or if an
        operator on the way has no gradient.
        """
        by_name = {node.name: node for node in variables(self._entries)}
        wanted = []
        for name in wrt:
            if name not in by_name:
                raise ParameterError(f"gradient: there is no variable {name!r}; there are "
                                     f"{', '.join(by_name)}")
            wanted.append(Entry(by_name[name], 0))
        found = gradient_graph(self._entries, [None] * len(self._entries), wanted)
        for name, entry in zip(wrt, found, strict=True):
            if entry is None:
                raise MXNetError(f"gradient: the outputs do not depend on {name!r}")
        return Symbol([entry for entry in found if entry is not None])

    # ---- shapes and dtypes --------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> Shapes:
        """Shapes of (arguments, outputs, aux states) from those of some variables.

        Known shapes by name, or by position in the order of `list_arguments`, with None where
        unknown; 0 is an unknown dimension. (None, None, None) and a warning when they do not
        suffice.
        Raises ShapeError, which names operator, node and input, when they do not go together.
        """
        return infer_shape(self._entries, False, args, kwargs)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> Shapes:
        """Like `infer_shape`, but with () and 0 for what does not follow."""
        return infer_shape(self._entries, True, args, kwargs)

    def infer_type(self, *args: Any, **kwargs: Any) -> Types:
        """Dtypes of (arguments, outputs, aux states) as numpy types, from those of some variables.

        (None, None, None) and a warning when they do not suffice. Raises TypeMismatch.
        """
        return infer_type(self._entries, False, args, kwargs)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> Types:
        """Like `infer_type`, but with None for what does not follow."""
        return infer_type(self._entries, True, args, kwargs)

    # ---- files and texts ----------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph in MXNet's JSON; mixed-precision casts are left out unless asked for."""
        return graph_json.save_graph(self._entries, remove_amp_cast)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Writes `tojson` to a file."""
        if not isinstance(fname, (str, os.PathLike)):
            raise TypeMismatch(f"save: fname need to be string, got {fname!r}")
        graph_json.write_file(fname, self.tojson(remove_amp_cast))

    def debug_str(self) -> str:
        """The graph as text, node by node."""
        return debug_text(self._entries)

    def __repr__(self) -> str:
        name = self.name
        if name is None:
            return f"<Symbol group [{', '.join(e.node.name for e in self._entries)}]>"
        return f"<Symbol {name}>"

    def _repr_html_(self) -> str:
        """A table of the nodes, for notebooks; of a large graph the last ones."""
        nodes = topological(self._entries)
        shown = nodes[-MOST_SHOWN:]
        rows = [[node.name, "variable" if node.op is None else node.op.name,
                 ", ".join(entry.node.name for entry in node.inputs)] for node in shown]
        left = len(nodes) - len(shown)
        more = f", {left} nodes before these" if left else ""
        return table(rows, ["node", "operator", "inputs"]) + paragraph(
            f"Symbol with outputs {', '.join(self.list_outputs())}{more}")

    # ---- running, by the executor ---------------------------------------------------------------

    def bind(self, ctx: Any, args: Any, args_grad: Any = None, grad_req: Any = "write",
             aux_states: Any = None, group2ctx: Any = None, shared_exec: Any = None,
             tune: bool = False, precision: Any = None) -> Any:
        """An Executor on these arrays (lists in the order of `list_arguments`, or dicts).

        With `tune` its first run for inference measures which layouts are fastest here.
        `precision` is what inference computes in (docs/precision.md).
        """
        return hooks.call("bind", self, ctx, args, args_grad=args_grad, grad_req=grad_req,
                          aux_states=aux_states, group2ctx=group2ctx, shared_exec=shared_exec,
                          tune=tune, precision=precision)

    def simple_bind(self, ctx: Any = None, grad_req: Any = "write", type_dict: Any = None,
                    stype_dict: Any = None, group2ctx: Any = None, shared_arg_names: Any = None,
                    shared_exec: Any = None, shared_buffer: Any = None, tune: Any = False,
                    precision: Any = None, **kwargs: Any) -> Any:
        """An Executor on new arrays, whose shapes follow from `kwargs` (name=shape).

        With `tune` its first run for inference measures which layouts are fastest here.
        `precision` is what inference computes in (docs/precision.md).
        """
        return hooks.call("simple_bind", self, ctx, grad_req=grad_req, type_dict=type_dict,
                          stype_dict=stype_dict, group2ctx=group2ctx,
                          shared_arg_names=shared_arg_names, shared_exec=shared_exec,
                          shared_buffer=shared_buffer, tune=tune, precision=precision,
                          **kwargs)

    def optimize_for(self, backend: str, args: Any = None, aux: Any = None, ctx: Any = None,
                     shape_dict: Any = None, type_dict: Any = None, stype_dict: Any = None,
                     skip_infer: bool = False, **kwargs: Any) -> Symbol:
        """A symbol for inference with fewer, larger operators: layers fused with what follows.

        `backend` is "ONEDNN" (or MXNet's name for it, "MKLDNN"); "MKLDNN_QUANTIZE" is
        `get_backend_symbol`. `args` and `aux` are dicts of the parameters; if given, batch norms
        are folded into the layers before them, whose new weights are added to `args`. Shapes of
        inputs that are not in `args` are given in `shape_dict`. Source: MXNet's
        Symbol.optimize_for.
        """
        made: Symbol = hooks.call("optimize_for", self, backend, args=args, aux=aux,
                                  shape_dict=shape_dict, type_dict=type_dict)
        return made

    def get_backend_symbol(self, backend: str) -> Symbol:
        """The graph with layers and what follows them as one node each, for quantization.

        `backend` is "MKLDNN", or "MKLDNN_QUANTIZE": only what can be computed of 8-bit numbers is
        fused, and ranges of a quantized graph are put into its layers. At inference such a graph
        is as fast as this one. Source: MXNet's Symbol.get_backend_symbol.
        """
        made: Symbol = hooks.call("get_backend_symbol", self, backend)
        return made

    def eval(self, ctx: Any = None, **kwargs: Any) -> Any:
        """The outputs, as a list of arrays, for arrays given by name."""
        return hooks.call("eval", self, ctx, **kwargs)


def _shown(attrs: Mapping[str, str]) -> dict[str, str]:
    """Attributes as users see them: hidden ones under both of their names."""
    plain = {key: attrs[f"__{key}__"] for key in HIDDEN_KEYS if f"__{key}__" in attrs}
    return {**attrs, **plain}


def _exact_hidden_key(key: str) -> str:
    # unlike on creation, only exact keys are hidden: `ctx_group2` stays as it is
    return key if key not in HIDDEN_KEYS and key.startswith(HIDDEN_KEYS) else hidden_key(key)


def group(symbols: Sequence[Symbol]) -> Symbol:
    """All outputs of several symbols as one symbol; TypeMismatch for anything else."""
    if (not isinstance(symbols, (list, tuple)) or not symbols
            or not all(isinstance(s, Symbol) for s in symbols)):
        raise TypeMismatch("Group: expected a list of symbols as input")
    return Symbol([entry for s in symbols for entry in s.entries])


def _only_for_arrays(name: str) -> Any:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(f"{name} is not implemented for Symbol and only available "
                                      "in NDArray")
    method.__name__ = name
    method.__doc__ = "Only arrays have it: raises NotImplementedForSymbol."
    return method


for _name in ("asnumpy", "asscalar", "copy", "as_in_context", "detach", "backward",
              "wait_to_read"):
    setattr(Symbol, _name, _only_for_arrays(_name))
