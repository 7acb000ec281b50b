"""Activation layers."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ... import initializer
from ...public import shows
from ..block import HybridBlock
from ..errors import Mismatch

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]
__dir__ = shows(globals())


class Activation(HybridBlock):
    """An activation by its name: 'relu', 'sigmoid', 'tanh', 'softrelu' or 'softsign'.

    Source: operator Activation.
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where it is positive, else `alpha` times x; Mismatch for a negative `alpha`."""

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        if alpha < 0:
            raise Mismatch("Slope coefficient for LeakyReLU must be no less than 0, got "
                           f"alpha={alpha}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """LeakyReLU whose slope is a parameter: one, or one for each of `in_channels` (He et al. 2015).

    `alpha_initializer` is how the slope is initialized.
    """

    def __init__(self, alpha_initializer: Any = initializer.Constant(0.25),  # noqa: B008
                 in_channels: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, else alpha (exp(x) - 1) (Clevert et al. 2015)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The scaled ELU of self-normalizing networks (Klambauer et al. 2017)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x times sigmoid(beta x) (Ramachandran et al. 2017)."""

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * F.sigmoid(self._beta * x, name="fwd")
