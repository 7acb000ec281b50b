"""Executors of one graph on several contexts, each with its part of a batch."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from .. import nd
from ..context import Context
from ..dtypes import FLAG_NAMES
from ..errors import MXNetError, NameMismatch, ParameterError, ShapeError
from ..io import DataDesc
from ..io.data import as_desc
from ..nd import NDArray

Slices = list[slice]


def split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> Slices:
    """Parts of a batch in proportion to the loads. Raises ParameterError where one is empty."""
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(0, batch_size - sum(counts))
    slices, end = [], 0
    for count in counts:
        begin, end = min(end, batch_size), min(end + count, batch_size)
        if begin >= end:
            raise ParameterError(f"Too many slices. Some splits are empty: {batch_size} samples "
                                 f"on {len(counts)} contexts")
        slices.append(slice(begin, end))
    return slices


def _groups(group2ctxs: Any, count: int) -> list[dict[str, Context] | None]:
    """For each context the contexts of groups."""
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, list):
        if len(group2ctxs) != count:
            raise ParameterError(f"group2ctxs has {len(group2ctxs)} dicts, expected {count}")
        return group2ctxs
    if not isinstance(group2ctxs, Mapping):
        raise ParameterError("group2ctxs should be list of dict of str to context, or dict of str "
                             f"to context or list of context, got {type(group2ctxs).__name__}")
    made: list[dict[str, Context] | None] = [{} for _ in range(count)]
    for name, given in group2ctxs.items():
        of_each = [given] * count if isinstance(given, Context) else list(given)
        of_each = of_each * count if len(of_each) == 1 else of_each
        if len(of_each) != count:
            raise ParameterError(f"length of group2ctxs[{name!r}] should be {count} or 1")
        for groups, ctx in zip(made, of_each, strict=True):
            assert groups is not None
            groups[name] = ctx
    return made


def _merged(outputs: list[list[NDArray]], axes: Sequence[int]) -> list[NDArray]:
    """Each output in one array; where there is no axis of samples, that of the first context."""
    return [of_each[0] if axis < 0 or len(of_each) == 1 else
            nd.concat(*(one.as_in_context(of_each[0].context) for one in of_each), dim=axis)
            for of_each, axis in zip(outputs, axes, strict=True)]


def _part(array: NDArray, axis: int, of: slice) -> NDArray:
    if axis < 0 or (of.start == 0 and of.stop == array.shape[axis]):
        return array
    if axis == 0:
        return array[of.start:of.stop]
    made: NDArray = nd.slice_axis(array, axis=axis, begin=of.start, end=of.stop)
    return made


class DataParallelExecutorGroup:
    """An executor a context. What is loaded is cut along the axis of samples, outputs are put
    together. Source: MXNet's DataParallelExecutorGroup.

    `workload` says how large each part is. `grad_req` is one request, a list, or a dict by name;
    `fixed_param_names` have no gradient. Memory is shared with that of `shared_group`.
    """

    def __init__(self, symbol: Any, contexts: list[Context], workload: Sequence[float],
                 data_shapes: Any, label_shapes: Any, param_names: list[str], for_training: bool,
                 inputs_need_grad: bool, shared_group: DataParallelExecutorGroup | None = None,
                 logger: Any = logging, fixed_param_names: Sequence[str] | None = None,
                 grad_req: Any = "write", state_names: Sequence[str] | None = None,
                 group2ctxs: Any = None) -> None:
        self.symbol = symbol
        self.contexts = contexts
        self.workload = workload
        self.group2ctxs = _groups(group2ctxs, len(contexts))
        self.param_names = param_names
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.output_names = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.output_layouts = [DataDesc.get_batch_axis(symbol[i].attr("__layout__"))
                               for i in range(self.num_outputs)]
        data = [as_desc(one) for one in data_shapes]
        label = None if label_shapes is None else [as_desc(one) for one in label_shapes]
        self.grad_req = self._requests(grad_req if for_training else "null",
                                       [desc.name for desc in data])
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in contexts] if shared_group is None else shared_group.shared_data_arrays)
        self.execs: list[Any] = []
        self._default_execs: list[Any] | None = None
        self.batch_size: int | None = None
        self.slices: Slices = []
        self.bind_exec(data, label, shared_group)

    def _requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise NameMismatch(f"grad_req has {len(grad_req)} requests, but there are "
                                   f"{len(self.arg_names)} arguments")
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, Mapping)):
            raise ParameterError("grad_req must be one of str, list, tuple, or dict, got "
                                 f"{type(grad_req).__name__}")
        default = grad_req if isinstance(grad_req, str) else "write"
        made = {}
        for name in self.arg_names:
            wanted = (name not in self.fixed_param_names if name in self.param_names
                      else name in data_names and self.inputs_need_grad)
            made[name] = default if wanted else "null"
        return made if isinstance(grad_req, str) else {**made, **grad_req}

    # ---- binding ------------------------------------------------------------------------------

    def decide_slices(self, data_shapes: Sequence[DataDesc]) -> list[int]:
        """The axis of samples of each array. All must have equally many samples: ShapeError."""
        axes = [DataDesc.get_batch_axis(desc.layout) for desc in data_shapes]
        for desc, axis in zip(data_shapes, axes, strict=True):
            if axis == -1:
                continue
            size = desc.shape[axis]
            if self.batch_size is None:
                self.batch_size = size
                self.slices = split_input_slice(size, self.workload)
            elif size != self.batch_size:
                raise ShapeError("all data must have the same batch size: batch_size = "
                                 f"{self.batch_size}, but {desc.name} has shape {desc.shape}")
        return axes

    def bind_exec(self, data_shapes: Any, label_shapes: Any,
                  shared_group: DataParallelExecutorGroup | None = None,
                  reshape: bool = False) -> None:
        """Makes executors for these shapes, or reshapes those that there are."""
        self.batch_size, self.slices = None, []
        self.data_layouts = self.decide_slices(data_shapes)
        self.label_layouts = self.decide_slices(label_shapes or [])
        if not self.slices:  # no array has samples: each context computes all
            self.slices = [slice(i, i + 1) for i in range(len(self.contexts))]
        made = []
        for i in range(len(self.contexts)):
            shapes = [*self._sliced(data_shapes, i, self.data_layouts),
                      *self._sliced(label_shapes or [], i, self.label_layouts)]
            if reshape:
                assert self._default_execs is not None
                made.append(self._default_execs[i].reshape(
                    allow_up_sizing=True, **{desc.name: desc.shape for desc in shapes}))
            else:
                made.append(self._bind_one(i, shapes, shared_group))
        self.execs = made
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.data_names = [desc.name for desc in data_shapes]
        self.label_names = None if label_shapes is None else [desc.name for desc in label_shapes]
        self._collect()

    def _sliced(self, shapes: Sequence[DataDesc], i: int,
                axes: Sequence[int]) -> list[DataDesc]:
        made = []
        for desc, axis in zip(shapes, axes, strict=True):
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            made.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
        return made

    def _bind_one(self, i: int, shapes: Sequence[DataDesc],
                  shared_group: DataParallelExecutorGroup | None) -> Any:
        types = {desc.name: desc.dtype for desc in shapes}
        for name, attributes in self.symbol.attr_dict().items():
            flag = attributes.get("__dtype__", "-1")
            if name in types and flag != "-1":
                types[name] = FLAG_NAMES[int(flag)]
        shared = None if shared_group is None else shared_group.execs[i]
        known = set(self.arg_names)
        return self.symbol.simple_bind(
            ctx=self.contexts[i], grad_req=self.grad_req, type_dict=types,
            shared_arg_names=self.param_names, shared_exec=shared, group2ctx=self.group2ctxs[i],
            shared_buffer=self.shared_data_arrays[i],
            **{desc.name: desc.shape for desc in shapes if desc.name in known})

    def _collect(self) -> None:
        """Arrays by what they are, for each name a list with one a context."""
        def arrays(names: Sequence[str]) -> list[list[NDArray]]:
            return [[exe.arg_dict[name] for exe in self.execs] for name in names]

        self.param_names_bound = [name for name in self.arg_names if name in self.param_names]
        self.param_arrays = arrays(self.param_names_bound)
        self.state_arrays = arrays(self.state_names)
        self.grad_arrays = [[exe.grad_dict.get(name) for exe in self.execs]
                            for name in self.param_names_bound] if self.for_training else None
        self.input_grad_arrays = [
            [exe.grad_dict.get(name) for exe in self.execs] for name in self.data_names
            if name in self.arg_names] if self.inputs_need_grad else None
        self.aux_arrays = [[exe.aux_dict[name] for exe in self.execs] for name in self.aux_names]
        self.data_arrays = self._targets(self.data_names)
        self.label_arrays = (None if self.label_names is None
                             else self._targets(self.label_names))

    def _targets(self, names: Sequence[str]) -> list[list[tuple[slice, NDArray | None]]]:
        return [[(part, exe.arg_dict.get(name)) for part, exe in
                 zip(self.slices, self.execs, strict=True)] for name in names]

    def reshape(self, data_shapes: Any, label_shapes: Any) -> None:
        """Executors for other shapes, with the memory of the first ones."""
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        if self._default_execs is None:
            self._default_execs = list(self.execs)
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    # ---- parameters ---------------------------------------------------------------------------

    def set_params(self, arg_params: Any, aux_params: Any, allow_extra: bool = False) -> None:
        """Copies values into the parameters on all contexts."""
        known = {*self.arg_names, *self.aux_names}
        extra = [name for given in (arg_params, aux_params) for name in given or ()
                 if name not in known]
        if extra and not allow_extra:
            raise ParameterError(f"set_params: Find name {extra[0]!r} that is not in the "
                                 "arguments: pass allow_extra=True to leave it out")
        for exe in self.execs:
            exe.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: Any, aux_params: Any) -> None:
        """Copies the parameters, their mean over contexts, into the arrays of the dicts."""
        for names, arrays, targets in (
                (self.param_names_bound, self.param_arrays, arg_params),
                (self.aux_names, self.aux_arrays, aux_params)):
            for name, of_each in zip(names, arrays, strict=True):
                target = targets[name]
                value = of_each[0]
                if len(of_each) > 1:
                    first = of_each[0].context
                    value = nd.add_n(*(one.as_in_context(first) for one in of_each)) / len(of_each)
                target[:] = value.as_in_context(target.context)

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Arrays that are kept between batches, a list a context for each."""
        if merge_multi_context:
            raise ParameterError("merge_multi_context=True is not supported for get_states yet.")
        return self.state_arrays

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Copies arrays, as `get_states` gives them, into the states, or sets all to one value."""
        if (states is None) == (value is None):
            raise ParameterError("set_states: one of states & value must be specified, not both")
        for i, targets in enumerate(self.state_arrays):
            for k, target in enumerate(targets):
                target[:] = value if states is None else states[i][k]

    # ---- computation --------------------------------------------------------------------------

    def _load(self, arrays: Any, targets: Any, axes: Sequence[int]) -> None:
        """Copies arrays, or lists of one a context, to where the executors read them."""
        for given, of_each, axis in zip(arrays, targets, axes, strict=False):
            for k, (part, target) in enumerate(of_each):
                if target is not None:
                    source = (given[k] if isinstance(given, (list, tuple))
                              else _part(given, axis, part))
                    source.copyto(target)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Loads a batch, or a list of one a context, and computes the outputs."""
        self.load(data_batch)
        self.run(self.for_training if is_train is None else is_train)

    def load(self, data_batch: Any) -> None:
        """Copies a batch, or a list of one a context, to where the executors read it."""
        batches = data_batch if isinstance(data_batch, list) else None
        data = data_batch.data if batches is None else list(
            map(list, zip(*(one.data for one in batches), strict=True)))
        self._load(data, self.data_arrays, self.data_layouts)
        label = getattr(data_batch if batches is None else batches[0], "label", None)
        if label and batches is not None:
            label = list(map(list, zip(*(one.label for one in batches), strict=True)))
        if self.label_arrays is not None and label:
            self._load(label, self.label_arrays, self.label_layouts)

    def run(self, is_train: bool) -> None:
        """Computes the outputs for what was loaded."""
        for exe in self.execs:
            exe.forward(is_train=is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Computes gradients, from those of the outputs where they are given."""
        if not self.for_training:
            raise MXNetError("re-bind with for_training=True to run backward")
        grads = out_grads or []
        for exe, part, ctx in zip(self.execs, self.slices, self.contexts, strict=True):
            exe.backward(out_grads=[
                _part(grad, axis, part).as_in_context(ctx)
                for grad, axis in zip(grads, self.output_layouts, strict=False)])

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs for the whole batch."""
        made = []
        for name, output, axis in zip(self.output_names, self.execs[0].outputs,
                                      self.output_layouts, strict=True):
            shape = list(output.shape)
            if axis >= 0 and shape and len(self.execs) > 1:
                shape[axis] = self.batch_size
            made.append((name, tuple(shape)))
        return made

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0,
                    end: int | None = None) -> list[Any]:
        """Outputs of the last forward."""
        end = self.num_outputs if end is None else end
        found = [[exe.outputs[i] for exe in self.execs] for i in range(begin, end)]
        return _merged(found, self.output_layouts[begin:end]) if merge_multi_context else found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs."""
        if self.input_grad_arrays is None:
            raise MXNetError("get_input_grads: bind with inputs_need_grad=True")
        found = self.input_grad_arrays
        return _merged(found, self.data_layouts) if merge_multi_context else found

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Lets a metric count the outputs of each context with their part of the labels."""
        for k, (exe, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            mine = labels[k] if pre_sliced else [
                _part(label, axis, part)
                for label, axis in zip(labels or (), self.label_layouts, strict=False)]
            eval_metric.update_dict(OrderedDict(zip(self.label_names or (), mine, strict=False)),
                                    OrderedDict(zip(self.output_names, exe.outputs, strict=True)))

    def install_monitor(self, mon: Any) -> None:
        """Lets a Monitor watch all executors."""
        for exe in self.execs:
            mon.install(exe)
