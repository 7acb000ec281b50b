"""What PyTorch calls the layers of the zoo's networks, in the order in which these have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .symbols.densenet import DEPTHS as DENSENETS
from .symbols.vgg import DEPTHS as VGGS

# what PyTorch calls a network -> its name here; those not listed have the same
RENAMED = {"mobilenet_v2": "mobilenetv2b", "inception_v3": "inceptionv3",
           "squeezenet1_0": "squeezenet1.0", "squeezenet1_1": "squeezenet1.1",
           **{f"resnet{depth}": f"resnet{depth}_v1b" for depth in (18, 34, 50, 101, 152)}}
# what gluon calls a parameter of a layer -> PyTorch's name
PARAMETERS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias",
              "running_mean": "running_mean", "running_var": "running_var"}


def _alexnet() -> list[str]:
    return [*[f"features.{i}" for i in (0, 3, 6, 8, 10)],
            *[f"classifier.{i}" for i in (1, 4, 6)]]


def _vgg(stages: Sequence[int], with_norm: bool) -> list[str]:
    found, at = [], 0
    for count in stages:
        for _ in range(count):
            found.append(f"features.{at}")
            if with_norm:
                at += 1
                found.append(f"features.{at}")
            at += 2  # behind a relu
        at += 1  # and a pooling
    return [*found, *[f"classifier.{i}" for i in (0, 3, 6)]]


def _squeezenet(fires: Sequence[int]) -> list[str]:
    return ["features.0", *[f"features.{i}.{part}" for i in fires
                            for part in ("squeeze", "expand1x1", "expand3x3")], "classifier.1"]


def _densenet(stages: Sequence[int]) -> list[str]:
    found = ["features.conv0", "features.norm0"]
    for number, count in enumerate(stages, 1):
        found += [f"features.denseblock{number}.denselayer{i}.{part}"
                  for i in range(1, count + 1) for part in ("norm1", "conv1", "norm2", "conv2")]
        if number < len(stages):
            found += [f"features.transition{number}.{part}" for part in ("norm", "conv")]
    return [*found, "features.norm5", "classifier"]


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{i}" for i in range(1, count + 1)]


_MIXED = {
    "a": ["branch1x1", *_numbered("branch5x5", 2), *_numbered("branch3x3dbl", 3), "branch_pool"],
    "b": ["branch3x3", *_numbered("branch3x3dbl", 3)],
    "c": ["branch1x1", *_numbered("branch7x7", 3), *_numbered("branch7x7dbl", 5), "branch_pool"],
    "d": [*_numbered("branch3x3", 2), *_numbered("branch7x7x3", 4)],
    "e": ["branch1x1", "branch3x3_1", "branch3x3_2a", "branch3x3_2b", "branch3x3dbl_1",
          "branch3x3dbl_2", "branch3x3dbl_3a", "branch3x3dbl_3b", "branch_pool"]}
_BLOCKS = {"5b": "a", "5c": "a", "5d": "a", "6a": "b", "6b": "c", "6c": "c", "6d": "c", "6e": "c",
           "7a": "d", "7b": "e", "7c": "e"}


def _inception() -> list[str]:
    convolutions = [f"Conv2d_{name}" for name in ("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1",
                                                  "4a_3x3")]
    convolutions += [f"Mixed_{block}.{name}" for block, kind in _BLOCKS.items()
                     for name in _MIXED[kind]]
    return [*[f"{name}.{part}" for name in convolutions for part in ("conv", "bn")], "fc"]


# a network's name here -> its layers; those of `torch_form` have PyTorch's names themselves
LAYERS: dict[str, Callable[[], list[str]]] = {
    "alexnet": _alexnet, "inceptionv3": _inception,
    "squeezenet1.0": lambda: _squeezenet((3, 4, 5, 7, 8, 9, 10, 12)),
    "squeezenet1.1": lambda: _squeezenet((3, 4, 6, 7, 9, 10, 11, 12))}
for _depth, _stages in VGGS.items():
    LAYERS[f"vgg{_depth}"] = lambda stages=_stages: _vgg(stages, False)  # type: ignore[misc]
    LAYERS[f"vgg{_depth}_bn"] = lambda stages=_stages: _vgg(stages, True)  # type: ignore[misc]
for _depth, _sizes in DENSENETS.items():
    LAYERS[f"densenet{_depth}"] = lambda sizes=_sizes: _densenet(sizes[2])  # type: ignore[misc]
SAME_NAMES = {"mobilenetv2b", *[f"resnet{depth}_v1b" for depth in (18, 34, 50, 101, 152)]}


def torch_names(name: str, parameters: Sequence[str]) -> dict[str, str]:
    """What PyTorch calls each of a network's parameters, which are given as the attributes that
    lead to them, layer by layer."""
    layers: dict[str, None] = dict.fromkeys(key.rpartition(".")[0] for key in parameters)
    if name in SAME_NAMES:
        renamed = dict(zip(layers, layers, strict=True))
    else:
        renamed = dict(zip(layers, LAYERS[name](), strict=True))
    return {key: f"{renamed[key.rpartition('.')[0]]}.{PARAMETERS[key.rpartition('.')[2]]}"
            for key in parameters}
