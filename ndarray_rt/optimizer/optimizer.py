"""The module in which MXNet keeps its optimizers; here they are found under the same path."""

from __future__ import annotations

from ..public import shows
from .adaptive import AdaDelta, AdaGrad, Adam, Adamax, AdamW, Ftrl, Nadam, RMSProp
from .base import Optimizer, create, register
from .layerwise import LAMB, LARS, LBSGD
from .momentum import DCASGD, FTML, NAG, SGD, SGLD, Signum, Test, ccSGD
from .updater import Updater, get_updater

__all__ = [
    "DCASGD", "FTML", "LAMB", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaDelta", "AdaGrad", "Adam",
    "AdamW", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSProp", "Signum", "Test", "Updater",
    "ccSGD", "create", "get_updater", "register"]
__dir__ = shows(globals())
