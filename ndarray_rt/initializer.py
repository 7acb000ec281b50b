"""`mx.init` / `mx.initializer`: how parameters get their first values.

An initializer is called with an InitDesc, which is the parameter's name with its attributes, and
the array to fill. Names decide: what ends in `weight` gets the class's own rule, biases, betas and
means zeros, gammas and variances ones. An attribute `__init__` names another rule.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import ceil, prod, sqrt
from typing import Any

import numpy as np

from . import nd, random, registry
from .errors import MXNetError, NdrtError, ParameterError, ShapeError, TypeMismatch, shown
from .nd import NDArray
from .ops.blas import uses_blas
from .public import shows

__all__ = ["Bilinear", "Constant", "FusedRNN", "InitDesc", "Initializer", "LSTMBias", "Load",
           "MSRAPrelu", "Mixed", "Normal", "One", "Orthogonal", "Uniform", "Xavier", "Zero",
           "register"]
__dir__ = shows(globals())


class InitializerError(NdrtError, AssertionError):
    """Arguments of an initializer that do not go together with its parameter."""


class InitDesc(str):
    """The name of a parameter, with its attributes and the initializer of the whole network."""

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None,
                global_init: Any = None) -> InitDesc:
        made = super().__new__(cls, name)
        made.attrs = attrs or {}
        made.global_init = global_init
        return made


class Initializer:
    """The base of all rules; a subclass gives `_init_weight(desc, arr)`.

    `kwargs` are the arguments that make an equal object: `dumps` writes them, `==` compares them.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(self, verbose: bool = False,
                      print_func: Callable[[NDArray], str] | None = None) -> Initializer:
        """Logs each array that is filled; `print_func` makes the text (the rms, if None)."""
        self._verbose = verbose
        self._print_func = print_func or _rms
        return self

    def _verbose_print(self, desc: str, init: Any, arr: NDArray) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """JSON text [name, arguments], from which `create` makes an equal initializer."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: Any, arr: NDArray) -> None:
        """Fills `arr` by the rule for the parameter `desc`; ValueError for names of no rule."""
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        init = desc.attrs.get("__init__", "")
        if init:
            create(init)._init_weight(desc, arr)
            self._verbose_print(desc, init, arr)
            return
        for ending, rule in _BY_ENDING:
            if desc.endswith(ending):
                getattr(self, rule)(desc, arr)
                self._verbose_print(desc, ending, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: Any, arr: Any) -> None:
        """A call with a plain string, as scripts for the first MXNet make it."""
        warnings.warn("Calling initializer with init(str, NDArray) has been deprecated: use "
                      "init(mx.init.InitDesc(...), NDArray) instead", DeprecationWarning,
                      stacklevel=3)
        if not isinstance(name, str):
            raise TypeMismatch(f"initializer: name must be string, got {shown(name)}")
        if not isinstance(arr, NDArray):
            raise TypeMismatch(f"initializer: arr must be NDArray, got {shown(arr)}")
        for is_meant, rule in _LEGACY:
            if is_meant(name):
                getattr(self, rule)(name, arr)
                return
        self._init_default(name, arr)

    def _init_bilinear(self, _: Any, arr: NDArray) -> None:
        _fill_bilinear(arr)

    def _init_loc_bias(self, _: Any, arr: NDArray) -> None:
        if arr.shape[0] != 6:
            raise InitializerError(f"the bias of a localisation network has 6 elements, got shape "
                                   f"{arr.shape}")
        arr[:] = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])

    def _init_zero(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_bias(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_quantized_bias(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0

    def _init_gamma(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_beta(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _init_weight: a subclass must "
                                  "override it")

    def _init_quantized_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = vars(random)["randint"](-127, 127, dtype="int32").asnumpy().astype(np.int8)

    def _init_default(self, name: str, _: NDArray) -> None:
        raise ParameterError(
            f"Unknown initialization pattern for {name}. Names that have a default end in "
            '"weight", "bias", "gamma" (1.0) or "beta" (0.0). Use '
            "mx.sym.Variable(init=mx.init.*) to set a rule for this one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs


# ending of a name -> the method that fills such a parameter; the first that fits
_BY_ENDING = (
    ("weight", "_init_weight"), ("bias", "_init_bias"), ("gamma", "_init_gamma"),
    ("beta", "_init_beta"), ("min", "_init_zero"), ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"), ("bias_quantize", "_init_quantized_bias"))


def _ends(ending: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(ending)


_LEGACY: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda name: name.startswith("upsampling"), "_init_bilinear"),
    (lambda name: name.startswith("stn_loc") and name.endswith("weight"), "_init_zero"),
    (lambda name: name.startswith("stn_loc") and name.endswith("bias"), "_init_loc_bias"),
    (_ends("bias"), "_init_bias"), (_ends("gamma"), "_init_gamma"), (_ends("beta"), "_init_beta"),
    (_ends("weight"), "_init_weight"), (_ends("moving_mean"), "_init_zero"),
    (_ends("moving_var"), "_init_one"), (_ends("moving_inv_var"), "_init_zero"),
    (_ends("moving_avg"), "_init_zero"), (_ends("min"), "_init_zero"),
    (_ends("max"), "_init_one"))

_register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def register(klass: type) -> Any:
    """Makes an Initializer subclass known by its name in lower case; a class decorator."""
    return _register(klass)


def _rms(x: NDArray) -> str:
    return str((nd.norm(x) / sqrt(x.size)).asscalar())


def _fill_bilinear(arr: NDArray) -> None:
    """The kernel of bilinear upsampling in each filter of a weight (., ., H, W)."""
    if len(arr.shape) != 4:
        raise ShapeError(f"Bilinear: weights of rank 4 are filled, got shape {arr.shape}")
    height, width = arr.shape[2:]
    # MXNet takes the factor from the width alone
    factor = ceil(width / 2.0)
    center = (2 * factor - 1 - factor % 2) / (2.0 * factor)

    def ramp(n: int) -> np.ndarray[Any, Any]:
        return 1 - np.abs(np.arange(n) / factor - center)

    kernel = np.outer(ramp(height), ramp(width)).astype(np.float32)
    arr[:] = np.broadcast_to(kernel, arr.shape)


class Load:
    """Values from a dict of arrays, or a file of them; `default_init` where a name is not there.

    `arg:` and `aux:` before names, as in checkpoints, are left out.
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        found = nd.load(param) if isinstance(param, str) else param
        if not isinstance(found, Mapping):
            raise InitializerError(f"Load: param got {shown(found)}, expected a dict of arrays, or "
                                   "the name of a file of named arrays")
        self.param = {name[4:] if name.startswith(("arg:", "aux:")) else name: array
                      for name, array in found.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        found = self.param.get(name)
        if found is None:
            if self.default_init is None:
                raise InitializerError(f"Cannot Initialize {name}. Not found in loaded param and "
                                       "no default Initializer is provided.")
            self.default_init(name, arr)
        elif found.shape != arr.shape:
            raise InitializerError(f"Parameter {name} cannot be initialized from loading. Shape "
                                   f"mismatch, target {arr.shape} vs loaded {found.shape}")
        else:
            arr[:] = found
        if self.verbose:
            logging.info("Initialized %s by %s", name, "default" if found is None else "loading")


class Mixed:
    """The initializer whose pattern is the first that matches the beginning of the name."""

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise InitializerError(f"Mixed: got {len(patterns)} patterns and {len(initializers)} "
                                   "initializers")
        self.map = [(re.compile(p), init) for p, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ParameterError(f"Parameter name {name} did not match any pattern. Consider adding a "
                             '".*" pattern at the end with a default Initializer.')


@register
@alias("zeros")
class Zero(Initializer):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """Ones."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """One value, or an array of the parameter's shape (or one that broadcasts to it)."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        arr[:] = self.value

    def dumps(self) -> str:
        value = self._kwargs["value"]
        if not np.isscalar(value):
            array = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            self._kwargs["value"] = array.tolist()
        return super().dumps()


@register
class Uniform(Initializer):
    """Uniform numbers of [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        _draw("uniform", -self.scale, self.scale, arr)


@register
class Normal(Initializer):
    """Normal numbers of mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        _draw("normal", 0, self.sigma, arr)


@register
class Orthogonal(Initializer):
    """`scale` times a matrix of orthonormal rows or columns (Saxe et al. 2013, arXiv 1312.6120).

    It comes from the singular vectors of `rand_type` ("uniform" or "normal") numbers.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    @uses_blas
    def _init_weight(self, _: Any, arr: NDArray) -> None:
        if self.rand_type not in ("uniform", "normal"):
            raise ParameterError(f"Orthogonal: rand_type got {shown(self.rand_type)}, expected "
                                 "'uniform' or 'normal'")
        flat = nd.empty((arr.shape[0], prod(arr.shape[1:])))
        low = -1.0 if self.rand_type == "uniform" else 0.0
        _draw(self.rand_type, low, 1.0, flat)
        u, _s, v = np.linalg.svd(flat.asnumpy(), full_matrices=False)
        arr[:] = self.scale * (u if u.shape == flat.shape else v).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Numbers whose spread keeps the size of signals over layers (Glorot and Bengio 2010).

    Their scale is sqrt(magnitude / fan), the fan being that of inputs ("in"), outputs ("out") or
    the mean of both ("avg"); `rnd_type` is "uniform" (the scale is the bound) or "gaussian" (it is
    the standard deviation).
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg",
                 magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(f"Xavier initializer cannot be applied to vector {name}. It requires "
                             "at least 2D.")
        if self.rnd_type not in ("uniform", "gaussian"):
            raise ParameterError(f"Unknown random type {shown(self.rnd_type)}, expected 'uniform' "
                                 "or 'gaussian'")
        window = prod(shape[2:])
        fan_in, fan_out = shape[1] * window, shape[0] * window
        fans = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in fans:
            raise ParameterError(f"Incorrect factor type {shown(self.factor_type)}, expected one "
                                 f"of {', '.join(fans)}")
        scale = sqrt(self.magnitude / fans[self.factor_type])
        if self.rnd_type == "uniform":
            _draw("uniform", -scale, scale, arr)
        else:
            _draw("normal", 0, scale, arr)


@register
class MSRAPrelu(Xavier):
    """Xavier for layers before a PReLU of this slope (He et al. 2015, arXiv 1502.01852)."""

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope ** 2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that enlarges pictures by bilinear interpolation."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: Any, arr: NDArray) -> None:
        _fill_bilinear(arr)


@register
class LSTMBias(Initializer):
    """The bias of an LSTM cell: `forget_bias` for the forget gate, zeros for the others."""

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0
        # gates in the order input, forget, cell, output
        hidden = arr.shape[0] // 4
        arr[hidden:2 * hidden] = self.forget_bias


_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"),
          "gru": ("_r", "_z", "_o")}


@register
class FusedRNN(Initializer):
    """The one vector of parameters of a fused RNN operator, part by part.

    Each gate's weight and bias of each layer is filled by `init` (an initializer, its `dumps()`,
    or None: the network's), under the name that an unfused cell gives it; in an LSTM the forget
    gates' biases are `forget_bias`.
    """

    def __init__(self, init: Any, num_hidden: int, num_layers: int, mode: str,
                 bidirectional: bool = False, forget_bias: float = 1.0) -> None:
        if isinstance(init, str):
            init = create(init)
        if mode not in _GATES:
            raise ParameterError(f"FusedRNN: mode got {shown(mode)}, expected one of "
                                 f"{', '.join(_GATES)}")
        super().__init__(init=None if init is None else init.dumps(), num_hidden=num_hidden,
                         num_layers=num_layers, mode=mode, bidirectional=bidirectional,
                         forget_bias=forget_bias)
        self._init = init
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._forget_bias = forget_bias

    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        at = 0
        for name, shape in self.parts(self.num_input(arr.size)):
            size = prod(shape)
            part = arr[at:at + size].reshape(shape)
            at += size
            if self._mode == "lstm" and name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                init = desc.global_init if self._init is None else self._init
                init(InitDesc(name, global_init=desc.global_init), part)

    def num_input(self, size: int) -> int:
        """The width of the inputs of a network with that many parameters; MXNetError for none."""
        n, directions = self._num_hidden, 2 if self._bidirectional else 1
        per_unit = len(_GATES[self._mode]) * directions
        # everything but the weights on the input of the first layer
        known = per_unit * n * (self._num_layers * (n + 2)
                                + (self._num_layers - 1) * n * directions)
        width, rest = divmod(size - known, per_unit * n)
        if rest or width < 1:
            raise MXNetError(f"FusedRNN: {size} parameters are none of {self._num_layers} layer(s) "
                             f"of {n} units in mode {self._mode}")
        return width

    def parts(self, num_input: int) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of each part in the order of the vector: all weights, then all biases."""
        n, directions = self._num_hidden, "lr" if self._bidirectional else "l"
        weights, biases = [], []
        for layer in range(self._num_layers):
            width = n * len(directions) if layer else num_input
            for direction in directions:
                for kind, columns in (("i2h", width), ("h2h", n)):
                    for gate in _GATES[self._mode]:
                        name = f"{direction}{layer}_{kind}{gate}"
                        weights.append((f"{name}_weight", (n, columns)))
                        biases.append((f"{name}_bias", (n,)))
        return [*weights, *biases]


def _draw(kind: str, a: float, b: float, arr: NDArray) -> None:
    """Fills an array with numbers of `mx.random.uniform` or `normal`."""
    draw = getattr(random, kind)
    if arr.dtype.name == "bfloat16":  # which nothing draws
        arr[:] = draw(a, b, arr.shape)
    else:
        draw(a, b, arr.shape, out=arr)
