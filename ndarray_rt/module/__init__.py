"""Modules: symbols that are bound, initialised, trained and evaluated. Source: MXNet's `mx.mod`."""

from __future__ import annotations

from ..public import shows
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .executor_group import DataParallelExecutorGroup
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = ["BaseModule", "BucketingModule", "DataParallelExecutorGroup", "Module",
           "PythonLossModule", "PythonModule", "SequentialModule"]
__dir__ = shows(globals())
