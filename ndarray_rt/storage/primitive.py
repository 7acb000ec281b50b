"""Primitive: one compiled oneDNN primitive, shared by all users; and making them.

Holds no memory objects: those belong to the call or to the plan step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from math import prod
from typing import Any

from ..errors import Unsupported
from ..native import call, ffi, lib, make, text
from .desc import MemDesc, adopt


class Kind(IntEnum):
    """What a primitive computes."""

    CONVOLUTION = lib.NDRT_CONVOLUTION
    DECONVOLUTION = lib.NDRT_DECONVOLUTION
    INNER_PRODUCT = lib.NDRT_INNER_PRODUCT
    MATMUL = lib.NDRT_MATMUL
    POOLING = lib.NDRT_POOLING
    BATCH_NORM = lib.NDRT_BATCH_NORM
    LRN = lib.NDRT_LRN
    ELTWISE = lib.NDRT_ELTWISE
    BINARY = lib.NDRT_BINARY
    PRELU = lib.NDRT_PRELU
    SOFTMAX = lib.NDRT_SOFTMAX
    CONCAT = lib.NDRT_CONCAT
    SUM = lib.NDRT_SUM
    REDUCTION = lib.NDRT_REDUCTION
    REORDER = lib.NDRT_REORDER
    LAYER_NORM = lib.NDRT_LAYER_NORM
    VANILLA_RNN = lib.NDRT_VANILLA_RNN
    LSTM = lib.NDRT_LSTM
    LBR_GRU = lib.NDRT_LBR_GRU


class Direction(IntEnum):
    """What a primitive computes: results for inference or training, or gradients."""
    NONE = 0
    FORWARD_TRAINING = lib.NDRT_FORWARD_TRAINING
    FORWARD_INFERENCE = lib.NDRT_FORWARD_INFERENCE
    BACKWARD = lib.NDRT_BACKWARD
    BACKWARD_DATA = lib.NDRT_BACKWARD_DATA
    BACKWARD_WEIGHTS = lib.NDRT_BACKWARD_WEIGHTS


class Arg(IntEnum):
    """Execution arguments, by oneDNN's numbers."""

    SRC = lib.NDRT_ARG_SRC
    SRC_1 = lib.NDRT_ARG_SRC_1
    SRC_ITER = lib.NDRT_ARG_SRC_ITER
    SRC_ITER_C = lib.NDRT_ARG_SRC_ITER_C
    DST = lib.NDRT_ARG_DST
    DST_ITER = lib.NDRT_ARG_DST_ITER
    DST_ITER_C = lib.NDRT_ARG_DST_ITER_C
    WEIGHTS = lib.NDRT_ARG_WEIGHTS
    WEIGHTS_ITER = lib.NDRT_ARG_WEIGHTS_ITER
    WEIGHTS_PROJECTION = lib.NDRT_ARG_WEIGHTS_PROJECTION
    BIAS = lib.NDRT_ARG_BIAS
    MEAN = lib.NDRT_ARG_MEAN
    VARIANCE = lib.NDRT_ARG_VARIANCE
    SCALE = lib.NDRT_ARG_SCALE
    SHIFT = lib.NDRT_ARG_SHIFT
    WORKSPACE = lib.NDRT_ARG_WORKSPACE
    SCRATCHPAD = lib.NDRT_ARG_SCRATCHPAD
    DIFF_SRC = lib.NDRT_ARG_DIFF_SRC
    DIFF_SRC_ITER = lib.NDRT_ARG_DIFF_SRC_ITER
    DIFF_SRC_ITER_C = lib.NDRT_ARG_DIFF_SRC_ITER_C
    DIFF_DST = lib.NDRT_ARG_DIFF_DST
    DIFF_DST_ITER = lib.NDRT_ARG_DIFF_DST_ITER
    DIFF_DST_ITER_C = lib.NDRT_ARG_DIFF_DST_ITER_C
    DIFF_WEIGHTS = lib.NDRT_ARG_DIFF_WEIGHTS
    DIFF_WEIGHTS_ITER = lib.NDRT_ARG_DIFF_WEIGHTS_ITER
    DIFF_WEIGHTS_PROJECTION = lib.NDRT_ARG_DIFF_WEIGHTS_PROJECTION
    DIFF_BIAS = lib.NDRT_ARG_DIFF_BIAS
    DIFF_SCALE = lib.NDRT_ARG_DIFF_SCALE
    DIFF_SHIFT = lib.NDRT_ARG_DIFF_SHIFT
    MULTIPLE_SRC = lib.NDRT_ARG_MULTIPLE_SRC
    POST_OP = lib.NDRT_ARG_POST_OP


# These only move bytes, so that a reference implementation is no reason to refuse.
_MOVERS = frozenset({Kind.REORDER, Kind.CONCAT})
# oneDNN names these "ref", but they are built on its matrix product and nearly as fast as that.
_ON_PRODUCTS = frozenset({Kind.VANILLA_RNN, Kind.LSTM, Kind.LBR_GRU})


def _impl_name(kind: Kind, name: str) -> str:
    """oneDNN's name of an implementation, corrected where it is misleading."""
    return name.replace("ref", "gemm") if kind in _ON_PRODUCTS else name


# approximate bytes of one primitive with its generated code, from the growth of resident memory
# over hundreds of primitives of small shapes
_NBYTES = {Kind.CONVOLUTION: 96 << 10, Kind.DECONVOLUTION: 96 << 10, Kind.INNER_PRODUCT: 96 << 10,
           Kind.MATMUL: 96 << 10, Kind.VANILLA_RNN: 256 << 10, Kind.LSTM: 256 << 10,
           Kind.LBR_GRU: 256 << 10}
_NBYTES_OF_OTHERS = 24 << 10


class Primitive:
    """A compiled oneDNN primitive; stateless, callable from any thread at once."""

    __slots__ = ("__weakref__", "_descs", "impl", "kind", "nthreads", "ptr", "scratchpad")

    def __init__(self, kind: Kind, ptr: Any) -> None:
        self.kind = kind
        self.ptr = ptr
        self.impl: str = _impl_name(kind, text(lib.ndrt_prim_impl(ptr)))
        self.nthreads: int = lib.ndrt_prim_threads(ptr)
        self.scratchpad: int = lib.ndrt_prim_scratchpad(ptr)
        self._descs: dict[int, MemDesc | None] = {}

    @property
    def nbytes(self) -> int:
        """Approximate size, from its kind; without arguments and scratchpad."""
        return _NBYTES.get(self.kind, _NBYTES_OF_OTHERS)

    def desc(self, arg: int) -> MemDesc:
        """The layout this primitive wants for an argument; KeyError when it has none."""
        found = self.desc_or_none(arg)
        if found is None:
            raise KeyError(f"{self!r} has no argument {arg}")
        return found

    def desc_or_none(self, arg: int) -> MemDesc | None:
        """The layout wanted for an argument, or None when the primitive has no such argument."""
        if arg not in self._descs:
            out = ffi.new("ndrt_desc **")
            call(lib.ndrt_prim_desc, self.ptr, arg, out, what="querying a primitive")
            self._descs[arg] = adopt(out[0])
        return self._descs[arg]

    @property
    def src(self) -> MemDesc:
        return self.desc(Arg.SRC)

    @property
    def weights(self) -> MemDesc:
        return self.desc(Arg.WEIGHTS)

    @property
    def dst(self) -> MemDesc:
        return self.desc(Arg.DST)

    @property
    def diff_src(self) -> MemDesc:
        return self.desc(Arg.DIFF_SRC)

    @property
    def diff_dst(self) -> MemDesc:
        return self.desc(Arg.DIFF_DST)

    @property
    def diff_weights(self) -> MemDesc:
        return self.desc(Arg.DIFF_WEIGHTS)

    @property
    def is_reference(self) -> bool:
        """oneDNN's plain C++ loop, up to a thousand times slower than its optimized kernels."""
        if self.kind in _MOVERS:
            return False
        # the name lists primitives that this one is built on: "conv:any+ref:any"
        return any(part.startswith(("ref", "simple")) for part in self.impl.split("+"))

    def __repr__(self) -> str:
        return f"Primitive({self.kind.name.lower()}, {self.impl})"


_DESC_FIELDS = ("src", "weights", "bias", "dst", "diff_src", "diff_weights", "diff_bias",
                "diff_dst", "src_iter", "src_iter_c", "weights_iter", "weights_projection",
                "dst_iter", "dst_iter_c")
_DIMS_FIELDS = ("kernel", "strides", "dilates", "pad_l", "pad_r")


# kind, algorithm, alpha, beta and, for a binary one, the layout of its operand
PostSpec = tuple[int, int, float, float, MemDesc | None]


def eltwise_post(alg: int, alpha: float, beta: float) -> PostSpec:
    """The post-op that applies a function to the result."""
    return lib.NDRT_POST_ELTWISE, alg, alpha, beta, None


def binary_post(alg: int, desc: MemDesc) -> PostSpec:
    """The post-op that combines the result with an operand in the layout `desc`."""
    return lib.NDRT_POST_BINARY, alg, 0.0, 0.0, desc


SUM_POST: PostSpec = (lib.NDRT_POST_SUM, 0, 1.0, 0.0, None)  # adds the destination's old contents


# oneDNN stores the elements of one image and the extent of a window in 32 bits
_LARGEST_IMAGE = (1 << 31) - 1
_WINDOWED = (Kind.CONVOLUTION, Kind.DECONVOLUTION, Kind.POOLING)


def _refuse_large_images(kind: Kind, fields: Mapping[str, Any]) -> None:
    """Unsupported where oneDNN's 32-bit counts would overflow, which can crash the process."""
    images = [fields[name] for name in ("src", "dst", "diff_src", "diff_dst")
              if fields.get(name) is not None]
    numbers = [number for name in _DIMS_FIELDS for number in fields.get(name) or ()]
    largest = max([*(prod(desc.dims[2:]) for desc in images), *map(abs, numbers)])
    if largest > _LARGEST_IMAGE:
        raise Unsupported(f"oneDNN has no {kind.name.lower()} for images, or steps of a window, "
                          f"of {largest} elements")


_low_products: ContextVar[bool] = ContextVar("low_products", default=False)
# primitives that multiply and accumulate
_OF_PRODUCTS = frozenset({Kind.CONVOLUTION, Kind.DECONVOLUTION, Kind.INNER_PRODUCT, Kind.MATMUL,
                          Kind.VANILLA_RNN, Kind.LSTM, Kind.LBR_GRU})


@contextmanager
def low_products() -> Iterator[None]:
    """Primitives made inside may round float32 operands to bfloat16 before multiplying."""
    token = _low_products.set(True)
    try:
        yield
    finally:
        _low_products.reset(token)


def make_primitive(kind: Kind, direction: Direction = Direction.NONE, *, alg: int = 0,
                   srcs: Sequence[MemDesc] = (), scales: Sequence[float] = (),
                   post_sum: bool = False, post_ops: Sequence[PostSpec] = (),
                   allow_reference: bool = False, prefer: str = "", **fields: Any) -> Primitive:
    """A primitive from the fields of `ndrt_spec`.

    Layouts (`src`, `weights`, `bias`, `dst`, `diff_...`) are MemDescs or None; `kernel`, `strides`,
    `dilates` (oneDNN's: 0 is dense), `pad_l`, `pad_r` are tuples of equal length. `post_sum` adds
    to the destination instead of overwriting it; `post_ops` are applied to the result after that.
    If oneDNN has an implementation whose name begins with `prefer`, that is taken.
    Raises Unsupported when oneDNN has no implementation, or (unless allowed) only a reference one.
    """
    if kind in _WINDOWED:
        _refuse_large_images(kind, fields)
    spec = ffi.new("ndrt_spec *")
    spec.kind, spec.direction, spec.alg = kind, direction, alg
    spec.low_products = kind in _OF_PRODUCTS and _low_products.get()
    keep: list[Any] = []
    for name in _DESC_FIELDS:
        desc = fields.pop(name, None)
        if desc is not None:
            setattr(spec, name, desc.ptr)
    for name in _DIMS_FIELDS:
        dims = fields.pop(name, None)
        if dims is not None:
            spec.nspatial = len(dims)
            setattr(spec, name, list(dims))
    if srcs:
        array = ffi.new("ndrt_desc *[]", [desc.ptr for desc in srcs])
        keep.append(array)
        spec.srcs = ffi.cast("const ndrt_desc *const *", array)
        spec.nsrcs = len(srcs)
    if scales:
        array = ffi.new("float[]", list(scales))
        keep.append(array)
        spec.scales = array
    if post_sum:
        post_ops = [SUM_POST, *post_ops]
    if post_ops:
        array = ffi.new("ndrt_post_op[]", len(post_ops))
        for i, (post_kind, post_alg, alpha, beta, desc) in enumerate(post_ops):
            slot = array[i]
            slot.kind, slot.alg, slot.alpha, slot.beta = post_kind, post_alg, alpha, beta
            if desc is not None:
                slot.desc = desc.ptr
        keep.append(array)
        spec.post_ops, spec.npost_ops = array, len(post_ops)
    if prefer:
        name_of_impl = ffi.new("char[]", prefer.encode())
        keep.append(name_of_impl)
        spec.prefer = name_of_impl
    for name, value in fields.items():
        setattr(spec, name, value)
    made = Primitive(kind, make(lib.ndrt_prim_new, spec, out="ndrt_prim **",
                                free=lib.ndrt_prim_free,
                                what=f"making a {kind.name.lower()} primitive"))
    if made.is_reference and not allow_reference:
        raise Unsupported(f"oneDNN has only the reference implementation {made.impl} "
                          f"of this {kind.name.lower()}")
    return made
