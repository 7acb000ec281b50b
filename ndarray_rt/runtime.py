"""`mx.runtime`: what this package was built with and computes with.

Source: MXNet's `mx.runtime`, whose names of features these are.
"""

from __future__ import annotations

from collections import OrderedDict
from importlib.util import find_spec

from .errors import NdrtError, shown
from .public import shows

__all__ = ["Feature", "Features", "feature_list"]
__dir__ = shows(globals())

# MXNet's names, in its order. The kernels are built for AVX2 and AVX-512, and no less runs them.
_FEATURES = {
    "CUDA": False, "CUDNN": False, "NCCL": False, "CUDA_RTC": False, "TENSORRT": False,
    "CPU_SSE": True, "CPU_SSE2": True, "CPU_SSE3": True, "CPU_SSE4_1": True, "CPU_SSE4_2": True,
    "CPU_SSE4A": False, "CPU_AVX": True, "CPU_AVX2": True, "OPENMP": True, "SSE": True,
    "F16C": True, "JEMALLOC": False, "BLAS_OPEN": False, "BLAS_ATLAS": False, "BLAS_MKL": False,
    "BLAS_APPLE": False, "LAPACK": True, "MKLDNN": True, "OPENCV": False, "CAFFE": False,
    "PROFILER": True, "DIST_KVSTORE": False, "CXX14": False, "INT64_TENSOR_SIZE": True,
    "SIGNAL_HANDLER": False, "DEBUG": False, "TVM_OP": False}


class FeatureUnknown(NdrtError, KeyError):
    """A name that is none of a feature."""


class Feature:
    """A feature: `name`, and `enabled`, which says whether it is there."""

    __slots__ = ("_enabled", "_name")

    def __init__(self, name: str, enabled: bool) -> None:
        self._name = name
        self._enabled = enabled

    @property
    def name(self) -> str:
        """MXNet's name of the feature."""
        return self._name

    @property
    def enabled(self) -> bool:
        """Whether it is there."""
        return self._enabled

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """All features in MXNet's order. OPENCV says whether the package cv2 is installed."""
    found = {**_FEATURES, "OPENCV": find_spec("cv2") is not None}
    return [Feature(name, enabled) for name, enabled in found.items()]


class Features(OrderedDict[str, Feature]):
    """Features by name; there is one object of this class, which shows them all."""

    instance: Features | None = None

    def __new__(cls) -> Features:
        if cls.instance is None:
            made = super().__new__(cls)
            OrderedDict.__init__(made, [(feature.name, feature) for feature in feature_list()])
            cls.instance = made
        return cls.instance

    def __init__(self) -> None:
        # filled once, by __new__
        pass

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there, its name in capitals or not.

        FeatureUnknown, a RuntimeError, for a name that is none of a feature.
        """
        name = feature_name.upper()
        if name not in self:
            raise FeatureUnknown(f"Feature {shown(name)} is unknown, known features are: "
                                 f"{list(self)}")
        return self[name].enabled
