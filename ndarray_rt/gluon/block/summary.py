"""The table that `Block.summary` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...nd import NDArray
from ..errors import Mismatch
from ..utils import HookHandle

if TYPE_CHECKING:
    from .block import Block

_WIDTH = 80


@dataclass
class _Row:
    name: str
    shape: str
    params: int = 0
    trainable: int = 0
    shared: int = 0


def print_summary(block: Block, inputs: tuple[Any, ...]) -> None:
    """Runs the block once on `inputs` and prints a row for each layer that was called."""
    from ..nn.basic_layers import HybridSequential, Sequential
    rows = [_Row("Input", _shapes(inputs))]
    seen: set[Any] = set()
    handles: list[HookHandle] = []

    def note(layer: Any, _: Any, outputs: Any) -> None:
        row = _Row(f"{type(layer).__name__}-{len(rows)}", _shapes(outputs))
        for param in layer.params.values():
            size = param.data().size
            row.params += size
            row.trainable += 0 if param.grad_req == "null" else size
            row.shared += size if param in seen else 0
            seen.add(param)
        rows.append(row)

    def watch(layer: Any) -> None:
        if getattr(layer, "_active", False):
            raise Mismatch(f'"{layer.name}" must not be hybridized to print summary.')
        if not isinstance(layer, (Sequential, HybridSequential)):
            handles.append(layer.register_forward_hook(note))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    _print(rows)


def _print(rows: list[_Row]) -> None:
    line = "{:>20}  {:>42} {:>15}"
    print("-" * _WIDTH)
    print(line.format("Layer (type)", "Output Shape", "Param #"))
    print("=" * _WIDTH)
    for row in rows:
        print(line.format(row.name, row.shape, row.params))
    total = sum(row.params for row in rows)
    trainable = sum(row.trainable for row in rows)
    shared = sum(row.shared for row in rows)
    print("=" * _WIDTH)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {total}")
    print(f"   Trainable params: {trainable}")
    print(f"   Non-trainable params: {total - trainable}")
    print(f"Shared params in forward computation graph: {shared}")
    print(f"Unique parameters in model: {total - shared}")
    print("-" * _WIDTH)


def _shapes(args: Any) -> str:
    """Shapes of arrays in nested lists, as text without the outermost brackets."""
    def shapes(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [shapes(item) for item in value]
        return value.shape if isinstance(value, NDArray) else value

    found = shapes(args)
    return str(found)[1:-1] if isinstance(found, list) else str(found)
