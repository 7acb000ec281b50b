"""Pooling layers."""

# ruff: noqa: N803 - F is what all blocks call the module of operators
from __future__ import annotations

from typing import Any

from ...base import numeric_types
from ..block import HybridBlock
from ..errors import Mismatch


def check_layout(layout: str, known: tuple[str, ...]) -> None:
    """Mismatch for a layout that is not known."""
    if layout not in known:
        raise Mismatch(f"layout got {layout!r}, only {' and '.join(known)} are supported")


def sizes(value: Any, rank: int, what: str) -> Any:
    """A size for each spatial dimension, of one number or as many; else Mismatch."""
    if isinstance(value, numeric_types):
        return (value,) * rank
    if len(value) != rank:
        raise Mismatch(f"{what} must be a number or a list of {rank} ints, got {value!r}")
    return value


class _Pooling(HybridBlock):
    """What all pooling layers have in common."""

    def __init__(self, pool_size: Any, strides: Any, padding: Any, ceil_mode: bool,
                 global_pool: bool, pool_type: str, layout: str,
                 count_include_pad: bool | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        rank = len(pool_size)
        strides = pool_size if strides is None else strides
        if isinstance(strides, numeric_types):
            strides = (strides,) * rank
        if isinstance(padding, numeric_types):
            padding = (padding,) * rank
        self._kwargs = {"kernel": pool_size, "stride": strides, "pad": padding,
                        "global_pool": global_pool, "pool_type": pool_type, "layout": layout,
                        "pooling_convention": "full" if ceil_mode else "valid"}
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (f"{type(self).__name__}(size={kwargs['kernel']}, stride={kwargs['stride']}, "
                f"padding={kwargs['pad']}, ceil_mode={kwargs['pooling_convention'] == 'full'}, "
                f"global_pool={kwargs['global_pool']}, pool_type={kwargs['pool_type']}, "
                f"layout={kwargs['layout']})")


class MaxPool1D(_Pooling):
    """The largest element of each window over one spatial dimension.

    Parameters
    ----------
    pool_size : int or tuple of ints
        The window.
    strides : int or tuple of ints
        None: windows beside each other.
    padding : int or tuple of ints
    layout : str
        'NCW' or 'NWC'.
    ceil_mode : bool
        Rounds the size of the output up instead of down.

    Mismatch for another layout or size of the window. Source: operator Pooling.
    """

    def __init__(self, pool_size: Any = 2, strides: Any = None, padding: Any = 0,
                 layout: str = "NCW", ceil_mode: bool = False, **kwargs: Any) -> None:
        check_layout(layout, ("NCW", "NWC"))
        super().__init__(sizes(pool_size, 1, "pool_size"), strides, padding, ceil_mode, False,
                         "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """The largest element of each window over two spatial dimensions.

    Parameters as MaxPool1D's.
    """

    def __init__(self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0,
                 layout: str = "NCHW", ceil_mode: bool = False, **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        super().__init__(sizes(pool_size, 2, "pool_size"), strides, padding, ceil_mode, False,
                         "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """The largest element of each window over three spatial dimensions.

    Parameters as MaxPool1D's.
    """

    def __init__(self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, layout: str = "NCDHW", **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        super().__init__(sizes(pool_size, 3, "pool_size"), strides, padding, ceil_mode, False,
                         "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """The mean of each window over one spatial dimension.

    With `count_include_pad` padding counts as zeros; the other parameters are MaxPool1D's.
    Source: operator Pooling.
    """

    def __init__(self, pool_size: Any = 2, strides: Any = None, padding: Any = 0,
                 layout: str = "NCW", ceil_mode: bool = False, count_include_pad: bool = True,
                 **kwargs: Any) -> None:
        check_layout(layout, ("NCW", "NWC"))
        super().__init__(sizes(pool_size, 1, "pool_size"), strides, padding, ceil_mode, False,
                         "avg", layout, count_include_pad, **kwargs)


class AvgPool2D(_Pooling):
    """The mean of each window over two spatial dimensions.

    Parameters as AvgPool1D's.
    """

    def __init__(self, pool_size: Any = (2, 2), strides: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
                 **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        super().__init__(sizes(pool_size, 2, "pool_size"), strides, padding, ceil_mode, False,
                         "avg", layout, count_include_pad, **kwargs)


class AvgPool3D(_Pooling):
    """The mean of each window over three spatial dimensions.

    Parameters as AvgPool1D's.
    """

    def __init__(self, pool_size: Any = (2, 2, 2), strides: Any = None, padding: Any = 0,
                 ceil_mode: bool = False, layout: str = "NCDHW", count_include_pad: bool = True,
                 **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        super().__init__(sizes(pool_size, 3, "pool_size"), strides, padding, ceil_mode, False,
                         "avg", layout, count_include_pad, **kwargs)


class GlobalMaxPool1D(_Pooling):
    """The largest element over the spatial dimension, which remain as ones."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        check_layout(layout, ("NCW", "NWC"))
        super().__init__((1,), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The largest element over both spatial dimensions, which remain as ones."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        super().__init__((1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The largest element over the three spatial dimensions, which remain as ones."""

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        super().__init__((1, 1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The mean over the spatial dimension, which remain as ones."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        check_layout(layout, ("NCW", "NWC"))
        super().__init__((1,), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The mean over both spatial dimensions, which remain as ones."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        check_layout(layout, ("NCHW", "NHWC"))
        super().__init__((1, 1), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The mean over the three spatial dimensions, which remain as ones."""

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        check_layout(layout, ("NCDHW", "NDHWC"))
        super().__init__((1, 1, 1), None, 0, True, True, "avg", layout, **kwargs)
