"""The store of one process: 'local' and 'device', which differ in name alone on CPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from .. import nd
from ..errors import MXNetError, NameMismatch, ParameterError, TypeMismatch, Unsupported
from ..nd import NDArray
from ..optimizer import Updater, get_updater
from ..symbol.atomic_file import write_atomic
from .base import KVStoreBase, known_capability
from .compression import TwoBit

# 'local' and its old names keep sums on the CPU; 'device' may have its gradients compressed
KINDS = ("local", "local_update_cpu", "local_allreduce_cpu", "device", "local_allreduce_device")
Key = int | str


def _grouped(key: Any, value: Any, what: str) -> list[tuple[Key, list[NDArray]]]:
    """For each key, in the order of the first time it comes, its arrays.

    Raises TypeMismatch for keys that are neither ints nor strings, or of both kinds, and for
    values that are no arrays; NameMismatch for another number of values.
    """
    if isinstance(key, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(key) != len(value):
            count = len(value) if isinstance(value, (list, tuple)) else 1
            raise NameMismatch(f"kvstore: {what}: {len(key)} keys, {count} values")
        pairs = list(zip(key, value, strict=True))
    else:
        pairs = [(key, value)]
    found: dict[Key, list[NDArray]] = {}
    for one, arrays in pairs:
        if isinstance(one, bool) or not isinstance(one, (int, str)):
            raise TypeMismatch(f"kvstore: {what}: unexpected type for keys: {type(one).__name__}, "
                               "expected int or str")
        for array in arrays if isinstance(arrays, (list, tuple)) else [arrays]:
            if not isinstance(array, NDArray):
                raise TypeMismatch(f"kvstore: {what} of {one!r}: got a {type(array).__name__}, "
                                   "expected an NDArray")
            found.setdefault(one, []).append(array)
    if len({type(one) for one in found}) > 1:
        raise TypeMismatch(f"kvstore: {what}: inconsistent types of keys: ints and strings")
    return list(found.items())


class KVStore(KVStoreBase):
    """Keeps an array a key, on the first context that gave it.

    `push` sums what the contexts give. Without an updater the sum takes the value's place, with
    one (`set_optimizer`) `updater(key, sum, value)` changes the value. `pull` copies it. All of a
    store's calls are done when they return; `priority` has no effect. Source: MXNet's KVStore.
    """

    def __init__(self, handle: str) -> None:
        if handle not in KINDS:
            raise ParameterError(f"KVStore: unknown kind {handle!r}, expected one of {KINDS}")
        self._type = handle
        self._values: dict[Key, NDArray] = {}
        self._updater: Callable[[Any, NDArray, NDArray], None] | None = None
        self._compression: TwoBit | None = None

    # ---- values -------------------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """The first value of each key. Raises MXNetError for a key that has one already."""
        pairs = _grouped(key, value, "init")
        for one, arrays in pairs:
            if one in self._values:
                raise MXNetError(f"kvstore: init: duplicate init of key {one!r}")
            if len(arrays) != 1:
                raise MXNetError(f"kvstore: init: {len(arrays)} values of key {one!r}")
        self._check_kind(pairs, "init")
        for one, (array,) in pairs:
            self._values[one] = array.copy()

    def _check_kind(self, pairs: list[tuple[Key, list[NDArray]]], what: str) -> None:
        kinds = {type(one) for one in self._values} | {type(one) for one, _ in pairs}
        if len(kinds) > 1:
            raise TypeMismatch(f"kvstore: {what}: this store has keys of another kind: ints and "
                               "strings do not go together")

    def _value(self, key: Key, what: str) -> NDArray:
        found = self._values.get(key)
        if found is None:
            raise NameMismatch(f"kvstore: {what}: key {key!r} has not been inited")
        return found

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sums the values of each key; the sum replaces its value, or goes to the updater.

        Raises NameMismatch for a key without a value.
        """
        pairs = _grouped(key, value, "push")
        for one, arrays in pairs:
            kept = self._value(one, "push")
            for array in arrays:
                if array.shape != kept.shape:
                    raise ParameterError(f"kvstore: push of {one!r}: got shape {array.shape}, "
                                         f"expected {kept.shape}")
        for one, arrays in pairs:
            self._take(one, self._summed(one, arrays))

    def _summed(self, key: Key, arrays: list[NDArray]) -> NDArray:
        if self._compression is not None and len(arrays) > 1:
            arrays = [self._compression(key, i, array) for i, array in enumerate(arrays)]
        ctx = arrays[0].context
        if len(arrays) == 1:
            return arrays[0]
        total: NDArray = nd.add_n(*(array.as_in_context(ctx) for array in arrays))
        return total

    def _take(self, key: Key, total: NDArray) -> None:
        kept = self._values[key]
        if self._updater is None:
            kept[:] = total.as_in_context(kept.context)
        else:
            self._updater(key, total.as_in_context(kept.context), kept)

    def pull(self, key: Any, out: Any = None, priority: int = 0,
             ignore_sparse: bool = True) -> None:
        """Copies the value of each key to its arrays in `out`."""
        if out is None:
            raise TypeMismatch("kvstore: pull: out is None, expected arrays")
        pairs = _grouped(key, out, "pull")
        for one, _ in pairs:
            self._value(one, "pull")
        for one, arrays in pairs:
            self._hand_out(self._values[one], arrays)

    @staticmethod
    def _hand_out(value: NDArray, arrays: list[NDArray]) -> None:
        for array in arrays:
            array[:] = value.as_in_context(array.context)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """`push`, then `pull` to `out`, or back to the arrays of `value`."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """`init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out=out, priority=priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0,
                        row_ids: Any = None) -> None:
        """Refused: there are no sparse arrays."""
        raise Unsupported("kvstore: row_sparse_pull needs sparse arrays, which are not here: "
                          "docs/porting.md")

    # ---- optimizer ----------------------------------------------------------------------------

    def is_capable(self, capability: str) -> bool:
        return known_capability(capability) == self.OPTIMIZER

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Compresses what several contexts push to 2 bits: {'type': '2bit', 'threshold': 0.5}.

        Raises Unsupported for a store that is not of the kind 'device', ParameterError for
        parameters that are wrong.
        """
        if "device" not in self.type:
            raise Unsupported("Gradient compression is not supported for this type of kvstore: "
                              f"{self.type!r}, expected 'device'")
        self._compression = TwoBit.of(compression_params)

    def set_optimizer(self, optimizer: Any) -> None:
        """From now on pushed sums are gradients with which `optimizer` steps the values."""
        self._set_updater(get_updater(optimizer))

    def _set_updater(self, updater: Callable[[Any, NDArray, NDArray], None]) -> None:
        """`updater(key, pushed sum, value)` changes the value at each push."""
        self._updater = updater

    def _need_updater(self, what: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise MXNetError(f"Cannot {what} states: set_optimizer was not called on this kvstore")
        return self._updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the states of the optimizer, and the optimizer itself where it is asked for.

        The file is written as a whole or not at all; no pickle is written.
        """
        data = self._need_updater("save").get_states(dump_optimizer)

        def write(file: BinaryIO) -> None:
            file.write(data)

        write_atomic(fname, write)

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote, here or in MXNet."""
        updater = self._need_updater("load")
        with open(fname, "rb") as file:
            updater.set_states(file.read())

    # ---- processes ----------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self._type

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1

    def _barrier(self) -> None:
        """Returns at once: there is nobody to wait for."""

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Does nothing: there are no servers."""
