"""InferenceSession: the part of ONNX Runtime's Python interface that most programs use."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import NameMismatch, ParameterError
from .graph import Array, ValueInfo
from .model import Model, load

_PROVIDER = "CPUExecutionProvider"
_ELEMENTS = {"float32": "float", "float64": "double", "object": "string"}


def get_available_providers() -> list[str]:
    """The names of what can compute: the CPU."""
    return [_PROVIDER]


def get_device() -> str:
    """What computes: the CPU."""
    return "CPU"


class GraphOptimizationLevel(enum.IntEnum):
    """How much is optimized. Without effect: passes are switched by NDRT_SKIP_PASSES."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """In which order nodes run. Without effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """Options of a session. They are kept and have no effect: `set_num_threads` says how many
    threads compute."""

    def __init__(self) -> None:
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.enable_profiling = False
        self.enable_mem_pattern = True
        self.enable_cpu_mem_arena = True
        self.enable_mem_reuse = True
        self.optimized_model_filepath = ""
        self.use_deterministic_compute = False
        self._entries: dict[str, str] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps a setting."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """A setting that was kept; NameMismatch where there is none."""
        if key not in self._entries:
            raise NameMismatch(f"SessionOptions: there is no entry {key!r}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Without effect: plans are made for the shapes that come."""


class RunOptions:
    """Options of one run. Without effect."""

    def __init__(self) -> None:
        self.log_severity_level = 2
        self.log_verbosity_level = 0
        self.logid = ""
        self.terminate = False
        self.only_execute_path_to_fetches = False


class NodeArg:
    """An input or output: `name`, `shape` (ints, names, None) and `type`, such as
    'tensor(float)'."""

    def __init__(self, info: ValueInfo) -> None:
        self.name = info.name
        self.shape: list[int | str | None] = list(info.shape or ())
        element = "" if info.dtype is None else _ELEMENTS.get(info.dtype.name, info.dtype.name)
        self.type = f"{'seq' if info.kind == 'sequence' else info.kind}({element})"

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What a file says of itself."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.producer_name: str = metadata["producer_name"]
        self.graph_name: str = metadata["graph_name"]
        self.graph_description: str = metadata["graph_description"]
        self.description: str = metadata["description"]
        self.domain: str = metadata["domain"]
        self.version: int = metadata["version"]
        self.custom_metadata_map: dict[str, str] = metadata["custom"]


class InferenceSession:
    """A model as ONNX Runtime's class of this name runs it: `run(output_names, feed)`.

    `path_or_bytes` and `precision` are what `load` takes. `sess_options`, `providers` and what else
    ONNX Runtime knows is taken and has no effect; a provider that is not here is passed over as
    there. Raises what `load` raises, ParameterError for another option.
    """

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes,
                 sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None,
                 provider_options: Sequence[Any] | None = None, *,
                 precision: str | None = None, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in ("disabled_optimizers", "read_config_from_model"):
                raise ParameterError(f"InferenceSession: unknown option {name!r}")
        self._options = sess_options or SessionOptions()
        self.model: Model = load(path_or_bytes, precision=precision)
        self._outputs = [info.name for info in self.model.outputs]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs in order."""
        return [NodeArg(info) for info in self.model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs in order."""
        return [NodeArg(info) for info in self.model.outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initialisers that a run may be given others for."""
        return [NodeArg(info) for info in self.model.overridable]

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says of itself."""
        return ModelMetadata(self.model.metadata)

    def get_providers(self) -> list[str]:
        """What computes: the CPU."""
        return get_available_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of what computes: none."""
        return {_PROVIDER: {}}

    def get_session_options(self) -> SessionOptions:
        """What was given."""
        return self._options

    def set_providers(self, providers: Sequence[Any] | None = None,
                      provider_options: Sequence[Any] | None = None) -> None:
        """Without effect."""

    def disable_fallback(self) -> None:
        """Without effect."""

    def enable_fallback(self) -> None:
        """Without effect."""

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Array]:
        """The outputs of these names, all with None, for inputs by name: NumPy arrays.

        Raises what a call of a Model raises, NameMismatch for an output that there is not.
        """
        wanted = list(output_names or self._outputs)
        for name in wanted:
            if name not in self._outputs:
                raise NameMismatch(f"run: there is no output {name!r}; there are: "
                                   f"{', '.join(self._outputs)}")
        made = self.model.run(input_feed)
        if wanted == self._outputs:
            return made
        found = dict(zip(self._outputs, made, strict=True))
        return [found[name] for name in wanted]


