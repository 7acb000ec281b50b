"""The ONNX operators, a file for each family; each puts its own into the table."""

from __future__ import annotations

from importlib import import_module

FAMILIES = ("math", "compare", "structure", "padding", "indexing", "reduce", "products",
            "windows", "norms", "activations", "recurrent", "control", "sequences", "casts",
            "images", "boxes", "random", "signal", "strings", "deformable", "ngrams")


def load_families() -> None:
    """Imports all of them: from then on the table is complete."""
    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
