"""Compression of gradients to two bits an element, with what is lost carried over.

Source: MXNet's gradient compression; Seide et al., 1-Bit Stochastic Gradient Descent, 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError, TypeMismatch
from ..nd import NDArray


class TwoBit:
    """Each element becomes -threshold, 0 or threshold; the rest is added to the next gradient.

    What is kept of a key belongs to the place of its context in the list that is pushed.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rest: dict[tuple[Any, int], NDArray] = {}

    @classmethod
    def of(cls, params: Any) -> TwoBit | None:
        """What the parameters ask for; None for the type 'none'."""
        if not isinstance(params, Mapping):
            raise TypeMismatch(f"compression_params is a {type(params).__name__}, expected a dict")
        unknown = set(params) - {"type", "threshold"}
        if unknown:
            raise ParameterError(f"compression_params has {sorted(unknown)[0]!r}, expected 'type' "
                                 "and 'threshold'")
        kind = params.get("type", "none")
        if kind == "none":
            return None
        if kind != "2bit":
            raise ParameterError(f"compression_params: Unknown type for gradient compression "
                                 f"{kind!r}, expected '2bit'")
        threshold = float(params.get("threshold", 0.5))
        if not threshold > 0:
            raise ParameterError(f"compression_params: threshold must be greater than 0, got "
                                 f"{threshold}")
        return cls(threshold)

    def __call__(self, key: Any, place: int, grad: NDArray) -> NDArray:
        """The gradient as it comes out of two bits."""
        rest = self._rest.get((key, place))
        whole = grad if rest is None or rest.shape != grad.shape else rest + grad
        sent: NDArray = ((whole >= self.threshold) - (whole <= -self.threshold)) * self.threshold
        self._rest[key, place] = whole - sent
        return sent
