"""Networks of the zoo with parameters that PyTorch trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ModelFormatError, ParameterError, did_you_mean, shown
from ..io.array_file import load as load_arrays
from ..nd import NDArray
from .torch_names import LAYERS, RENAMED, SAME_NAMES, torch_names

# what PyTorch keeps beside parameters, and what a network needs in training alone
_COUNTER = "num_batches_tracked"
_UNUSED = {"inceptionv3": "AuxLogits."}
_LAST = {"alexnet": "classifier.6", "inceptionv3": "fc", "mobilenetv2b": "classifier.1"}


def load_torch(name: str, path: str | os.PathLike[str], classes: int | None = None,
               ctx: Any = None) -> Any:
    """A network of gluon's model zoo with the parameters of a PyTorch state dict.

    Parameters
    ----------
    name : str
        What PyTorch's users call it, or its name here: "resnet18" to "resnet152" (also
        "resnet50_v1b" ...), "mobilenet_v2", "alexnet", "vgg11" to "vgg19", "vgg11_bn" to
        "vgg19_bn", "squeezenet1_0", "squeezenet1_1", "densenet121" to "densenet201",
        "inception_v3".
    path : str
        The state dict in a file of safetensors (or an .npz file). Names may begin with "module.".
    classes : int
        How many; as many as the state dict has without it.
    ctx : Context or list of them

    ParameterError for another name; MXNetError when the file can not be read; ModelFormatError
    when it is damaged, or does not fit: the text lists names that are missing, that are too many,
    and shapes that differ. Pictures are what PyTorch takes: (N, 3, 224, 224), Inception's of 299.
    """
    from ..gluon.model_zoo.vision import get_model
    known = RENAMED.get(name, name) if isinstance(name, str) else name
    if known not in LAYERS and known not in SAME_NAMES:
        names = [*RENAMED, *LAYERS, *SAME_NAMES]
        hint = did_you_mean(name, names) if isinstance(name, str) else ""
        raise ParameterError(f"load_torch: PyTorch's parameters are not known for {shown(name)}; "
                             f"they are for: {', '.join(sorted(names))}{hint}")
    what = f"state dict {os.fspath(path)!r}"
    found = _state(load_arrays(path), what, _UNUSED.get(known))
    if classes is None:
        classes = _classes(known, found)
    net = get_model(known, classes=classes)
    params = net._collect_params_with_prefix()
    names_of = torch_names(known, list(params))
    _check(known, {names_of[key]: param for key, param in params.items()}, found, what)
    for key, param in params.items():
        param._load_init(found[names_of[key]], ctx, cast_dtype=True)
    return net


def _state(loaded: Any, what: str, unused: str | None) -> dict[str, NDArray]:
    if not isinstance(loaded, dict):
        raise ModelFormatError("its arrays have no names", what)
    if loaded and all(key.startswith("module.") for key in loaded):
        loaded = {key.removeprefix("module."): value for key, value in loaded.items()}
    return {key: value for key, value in loaded.items()
            if not key.endswith(_COUNTER) and not (unused and key.startswith(unused))}


def _classes(name: str, found: Mapping[str, NDArray]) -> int:
    """The outputs of the last layer; 1000 where there is none such: then other names are wrong
    too."""
    last = _LAST.get(name)
    if last is None:
        last = LAYERS[name]()[-1] if name in LAYERS else "fc"
    weight = found.get(f"{last}.weight")
    return 1000 if weight is None or not weight.shape or not weight.shape[0] else weight.shape[0]


def _check(name: str, wanted: Mapping[str, Any], found: Mapping[str, NDArray], what: str) -> None:
    """ModelFormatError that lists all that does not fit."""
    shapes = {key: param.shape for key, param in wanted.items()}
    told = [_listed("it has no", [key for key in shapes if key not in found]),
            _listed(f"{name} has no", [key for key in found if key not in shapes]),
            _listed("shapes differ:", [f"{key} {found[key].shape}, expected {shape}"
                                       for key, shape in shapes.items()
                                       if key in found and not _fits(found[key].shape, shape)])]
    if any(told):
        raise ModelFormatError(f"it does not fit {name}: {'; '.join(t for t in told if t)}", what)


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """0 is a dimension that the network takes as it comes."""
    return len(shape) == len(wanted) and all(b in (0, a) for a, b in zip(shape, wanted,
                                                                       strict=True))


def _listed(begin: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{begin} {', '.join(names[:8])}{more}"
