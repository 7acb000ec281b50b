"""Parameters of operators that passes make of a layer. Registers no operator."""

from __future__ import annotations

from ...op.params import Params, params_class, text


@params_class
class PartParams(Params):
    of: str = text("", doc="operator and node of the layer that this is a part of, for errors")

    def told(self, operator: str, node: str | None) -> tuple[str, str | None]:
        layer, _, name = self.of.partition(" ")
        return (layer, name) if layer else (operator, node)
