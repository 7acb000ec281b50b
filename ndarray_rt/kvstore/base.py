"""The interface of stores, the registry of kinds, and the plainest kind."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from ..errors import ParameterError, TypeMismatch
from ..nd import NDArray
from ..registry import register_class

C = TypeVar("C", bound=type)


class KVStoreBase:
    """What trainers and modules call. Subclasses that are registered are found by `create`."""

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Keeps `value` under `key` and copies it to `out`."""
        raise NotImplementedError(f"{type(self).__name__} must define broadcast")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sums `value` over contexts and copies what comes of it to `out`, or back to `value`."""
        raise NotImplementedError(f"{type(self).__name__} must define pushpull")

    def set_optimizer(self, optimizer: Any) -> None:
        """From now on what is pushed are gradients, and `optimizer` steps the weights here."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    def is_capable(self, capability: str) -> bool:
        """Whether the store has a capability; the one there is is KVStoreBase.OPTIMIZER."""
        raise NotImplementedError(f"{type(self).__name__} must define is_capable")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the states of the optimizer to a file."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote."""
        raise NotImplementedError(f"{type(self).__name__} runs no optimizer")

    @property
    def type(self) -> str:
        """The name of the kind."""
        raise NotImplementedError(f"{type(self).__name__} must define type")

    @property
    def rank(self) -> int:
        """The number of this process among the workers, from 0."""
        raise NotImplementedError(f"{type(self).__name__} must define rank")

    @property
    def num_workers(self) -> int:
        """How many processes share the store."""
        raise NotImplementedError(f"{type(self).__name__} must define num_workers")

    @staticmethod
    def register(klass: C) -> C:
        """Makes a class known to `create` by its name in lower case; a decorator."""
        return register_class(klass, KVStoreBase.kv_registry, "kvstore")


def known_capability(capability: str) -> str:
    """The capability in lower case. Raises ParameterError for one that no store knows."""
    if capability.lower() != KVStoreBase.OPTIMIZER:
        raise ParameterError(f"Unknown capability: {capability}; there is "
                             f"{KVStoreBase.OPTIMIZER!r}")
    return capability.lower()


@KVStoreBase.register
class TestStore(KVStoreBase):
    """Keeps nothing: it sums what is pushed and hands it out. For tests of trainers."""

    __test__ = False  # no class of tests to pytest

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        for one in out if isinstance(out, list) else [out]:
            one[:] = value

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        if isinstance(value, NDArray):
            total, targets = value, []
        else:
            ctx = value[0].context
            total, targets = sum((one.as_in_context(ctx) for one in value[1:]), value[0]), value
        if out is not None:
            targets = out if isinstance(out, list) else [out]
        for one in targets:
            one[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        known_capability(capability)
        return False

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def create(name: str = "local") -> KVStoreBase:
    """A store of a kind: 'local' or 'device', or a registered class by name.

    Raises TypeMismatch for what is no string, ParameterError for an unknown kind and for those
    that need several machines.
    """
    from .kvstore import KINDS, KVStore

    if not isinstance(name, str):
        raise TypeMismatch(f"kvstore: name must be a string, got {name!r}")
    name = name.lower()
    found = KVStoreBase.kv_registry.get(name)
    if found is not None:
        return found()
    if name in KINDS:
        return KVStore(name)
    if "dist" in name or name in ("nccl", "horovod", "byteps"):
        raise ParameterError(f"kvstore: {name!r} needs several machines or GPUs, which this "
                             "package does not have: use 'local'")
    raise ParameterError(f"kvstore: unknown kind {name!r}; there are: "
                         f"{', '.join([*KINDS, *KVStoreBase.kv_registry])}")
