"""`gluon.utils`: splitting batches over contexts, clipping gradients, checking files."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any
from weakref import ref

from .. import config, nd
from ..context import Context
from ..errors import ParameterError, Unsupported
from ..nd import NDArray
from ..np_shape import is_np_shape
from ..public import shows
from .errors import Mismatch

__all__ = ["check_sha1", "clip_global_norm", "download", "replace_file", "split_and_load",
           "split_data"]
__dir__ = shows(globals())


def split_data(data: Any, num_slice: int, batch_axis: int = 0,
               even_split: bool = True) -> list[Any]:
    """`num_slice` parts of `data` along `batch_axis`, the first ones longer by one where uneven.

    ParameterError where `even_split` is asked for and impossible.
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ParameterError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along "
            f"axis {batch_axis}. Use a batch size that's a multiple of {num_slice}, or "
            "even_split=False where parts may differ")
    each, longer = divmod(size, num_slice)
    ends = [0]
    for i in range(num_slice):
        ends.append(ends[-1] + each + (i < longer))
    spans = list(pairwise(ends))
    if batch_axis == 0:
        return [data[begin:end] for begin, end in spans]
    return [nd.slice_axis(data, axis=batch_axis, begin=begin, end=end) for begin, end in spans]


def split_and_load(data: Any, ctx_list: Sequence[Context], batch_axis: int = 0,
                   even_split: bool = True) -> list[NDArray]:
    """Parts of `data`, one on each context; `data` is an array or what `nd.array` takes."""
    if not isinstance(data, NDArray):
        data = nd.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float,
                     check_isfinite: bool = True) -> Any:
    """Scales arrays in place so that the norm of all of them together is at most `max_norm`.

    Gives the norm before: a float, or, without `check_isfinite`, an array of one element. With it
    a norm that is not finite is warned of.
    """
    if not arrays:
        raise Mismatch("clip_global_norm: got no arrays")
    ctx = arrays[0].context
    squares = []
    for array in arrays:
        flat = array.reshape((-1,))
        squares.append(nd.dot(flat, flat).as_in_context(ctx))
    total = nd.sqrt(nd.add_n(*squares))
    if check_isfinite:
        total = total.asscalar()
        if not isfinite(total):
            warnings.warn("nan or inf is detected. Clipping results will be undefined.",
                          UserWarning, stacklevel=2)
        scale: Any = max_norm / (total + 1e-8)
        if not scale >= 1:
            for array in arrays:
                array *= scale
        return total
    scale = nd.minimum(max_norm / (total + 1e-8), 1.0)
    for array in arrays:
        array *= scale.as_in_context(array.context)
    return total


def indent(text: str, width: int) -> str:
    """All lines but the first moved right."""
    return text.replace("\n", "\n" + " " * width)


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Has the file this SHA-1, in hexadecimal digits?"""
    found = hashlib.sha1()
    with open(filename, "rb") as file:
        while data := file.read(1 << 20):
            found.update(data)
    return found.hexdigest() == sha1_hash


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Moves a file to the place of another at once; `src` is gone also where that fails."""
    try:
        os.replace(src, dst)
    except OSError as error:
        if os.path.exists(src):
            os.remove(src)
        raise OSError(f"Moving downloaded temp file - {src}, to {dst} failed: {error}") from None


def _get_repo_url() -> str:
    """Where MXNet's files of networks and data are: MXNET_GLUON_REPO, or MXNet's own place."""
    url = config.get_variable("MXNET_GLUON_REPO") or (
        "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return url if url.endswith("/") else f"{url}/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The address of a file there; other packages name theirs by it."""
    return f"{_get_repo_url()}{namespace}/{filename}"


def download(url: str, path: str | None = None, overwrite: bool = False,
             sha1_hash: str | None = None, retries: int = 5, verify_ssl: bool = True) -> str:
    """The name of the file that `url` was saved to before; nothing is ever downloaded here.

    `path` is that file or its folder. Raises Unsupported, which names it, where it is not there,
    has another SHA-1, or `overwrite` asks for a new one.
    """
    name = url.split("/")[-1]
    if path is None:
        if not name:
            raise Mismatch(f"Can't construct file-name from the URL {url!r}. Please set the `path` "
                           "option manually.")
        path = name
    else:
        path = os.path.expanduser(path)
        if os.path.isdir(path):
            path = os.path.join(path, name)
    if retries < 0:
        raise Mismatch(f"Number of retries should be at least 0, got {retries}")
    if not overwrite and os.path.exists(path) and (not sha1_hash or check_sha1(path, sha1_hash)):
        return path
    why = ("a new one was asked for" if overwrite else
           "its SHA-1 is another" if os.path.exists(path) else "it is not there")
    raise Unsupported(f"download: ndarray_rt does not use the network. The file {path!r} is to be "
                      f"what {url} names, and {why}: put it there by other means")


def brief_list(names: Iterable[Any], limit: int = 7) -> str:
    """Names in quotes, the middle of long lists left out."""
    found = [f"'{name}'" for name in names]
    if len(found) > limit:
        half = limit // 2
        found = [*found[:half], "...", *found[-half:]]
    return ", ".join(found)


class HookHandle:
    """A hook that was attached to a block, to be detached once; usable in a `with`."""

    def __init__(self) -> None:
        self._hooks_dict_ref: ref[OrderedDict[int, Any]] | None = None
        self._id: int | None = None

    def attach(self, hooks_dict: OrderedDict[int, Any], hook: Any) -> None:
        """Adds `hook` to a block's hooks; Mismatch when the handle has one already."""
        if self._hooks_dict_ref is not None:
            raise Mismatch("The same handle cannot be attached twice.")
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks_dict_ref = ref(hooks_dict)

    def detach(self) -> None:
        """Takes the hook off; nothing where it is off already."""
        hooks = None if self._hooks_dict_ref is None else self._hooks_dict_ref()
        if hooks is not None and self._id is not None:
            hooks.pop(self._id, None)

    def __getstate__(self) -> Any:
        return (None if self._hooks_dict_ref is None else self._hooks_dict_ref()), self._id

    def __setstate__(self, state: Any) -> None:
        hooks, self._id = state
        self._hooks_dict_ref = None if hooks is None else ref(hooks)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, ptype: Any, value: Any, trace: Any) -> None:
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Is each dimension known? 0 is an unknown one, under np_shape -1."""
    if shape is None:
        return False
    unknown = -1 if is_np_shape() else 0
    if not len(shape):
        return is_np_shape()
    for dim in shape:
        if dim < unknown:
            raise Mismatch(f"shape dimension size cannot be less than {unknown}, got {dim} in "
                           f"{tuple(shape)}")
    return unknown not in shape
