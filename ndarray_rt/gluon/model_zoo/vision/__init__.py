"""`gluon.model_zoo.vision`: networks for pictures, by name or by function.

    net = gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)

All take `pretrained`, `ctx` and `root`: with `pretrained=True` the parameters come out of a file
in `root`; what is missing is an error that names the file. Further arguments go to the network.
"""

from __future__ import annotations

from typing import Any

from ....errors import ParameterError, shown
from ....public import shows
from .alexnet import AlexNet, alexnet
from .densenet import DenseNet, densenet121, densenet161, densenet169, densenet201
from .inception import Inception3, inception_v3
from .mobilenet import (
    MobileNet,
    MobileNetV2,
    get_mobilenet,
    get_mobilenet_v2,
    mobilenet0_5,
    mobilenet0_25,
    mobilenet0_75,
    mobilenet1_0,
    mobilenet_v2_0_5,
    mobilenet_v2_0_25,
    mobilenet_v2_0_75,
    mobilenet_v2_1_0,
)
from .resnet import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    get_resnet,
    resnet18_v1,
    resnet18_v2,
    resnet34_v1,
    resnet34_v2,
    resnet50_v1,
    resnet50_v2,
    resnet101_v1,
    resnet101_v2,
    resnet152_v1,
    resnet152_v2,
)
from .squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from .torch_form import (
    BasicBlockV1b,
    BottleneckV1b,
    MobileNetV2b,
    ResNetV1b,
    get_resnet_v1b,
    mobilenet_v2b,
    resnet18_v1b,
    resnet34_v1b,
    resnet50_v1b,
    resnet101_v1b,
    resnet152_v1b,
)
from .vgg import VGG, get_vgg, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn

__all__ = [
    "VGG",
    "AlexNet",
    "BasicBlockV1",
    "BasicBlockV1b",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV1b",
    "BottleneckV2",
    "DenseNet",
    "Inception3",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV2b",
    "ResNetV1",
    "ResNetV1b",
    "ResNetV2",
    "SqueezeNet",
    "alexnet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "get_resnet",
    "get_resnet_v1b",
    "get_vgg",
    "inception_v3",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
    "mobilenet_v2b",
    "resnet18_v1",
    "resnet18_v1b",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v1b",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v1b",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v1b",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v1b",
    "resnet152_v2",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]
__dir__ = shows(globals())

_MODELS = {make.__name__: make for make in (
    resnet18_v1, resnet34_v1, resnet50_v1, resnet101_v1, resnet152_v1, resnet18_v2, resnet34_v2,
    resnet50_v2, resnet101_v2, resnet152_v2, vgg11, vgg13, vgg16, vgg19, vgg11_bn, vgg13_bn,
    vgg16_bn, vgg19_bn, alexnet, resnet18_v1b, resnet34_v1b, resnet50_v1b, resnet101_v1b,
    resnet152_v1b, densenet121, densenet161, densenet169, densenet201)}
_MODELS.update({
    "squeezenet1.0": squeezenet1_0, "squeezenet1.1": squeezenet1_1, "inceptionv3": inception_v3,
    "mobilenet1.0": mobilenet1_0, "mobilenet0.75": mobilenet0_75, "mobilenet0.5": mobilenet0_5,
    "mobilenet0.25": mobilenet0_25, "mobilenetv2_1.0": mobilenet_v2_1_0,
    "mobilenetv2_0.75": mobilenet_v2_0_75, "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.25": mobilenet_v2_0_25, "mobilenetv2b": mobilenet_v2b})


def get_model(name: str, **kwargs: Any) -> Any:
    """A network by name, case ignored; `kwargs` go to its function.

    ParameterError, which lists the names, for one that does not exist.
    """
    make = _MODELS.get(name.lower()) if isinstance(name, str) else None
    if make is None:
        raise ParameterError(f"Model {shown(name)} is not supported. Available options are\n\t"
                             + "\n\t".join(sorted(_MODELS)))
    return make(**kwargs)
