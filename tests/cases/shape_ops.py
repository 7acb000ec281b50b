"""Reshape, Flatten, expand_dims, squeeze."""

from __future__ import annotations

from ndarray_rt.testing.case import Case

ALL = ("float32", "float64", "float16", "int32", "uint8", "int64", "bool")


def case(op: str, shape: tuple[int, ...], want: tuple[int, ...], dtypes: tuple[str, ...] = (
        "float32",), /, **params: object) -> Case:
    return Case(op, params, [shape], reference=lambda x: x.reshape(want), exact=True,
                native=0 not in shape and shape != () and want != (), dtypes=dtypes)


CASES = [
    case("Reshape", (2, 3, 4), (6, 4), ALL, shape=(-1, 4)),
    case("Reshape", (2, 3, 4), (4, 6), shape=(4, 6)),
    case("Reshape", (2, 3, 4), (2, 12), shape=(0, -1)),
    case("Reshape", (2, 3, 4), (2, 3, 4), shape=(-2,)),
    case("Reshape", (2, 3, 4), (2, 3, 4, 1, 1), shape=(-2, 1, 1)),
    case("Reshape", (2, 3, 4), (6, 4), shape=(-3, 4)),
    case("Reshape", (2, 3, 4, 5), (6, 20), shape=(-3, -3)),
    case("Reshape", (2, 3, 4), (2, 12), shape=(0, -3)),
    case("Reshape", (2, 3, 4), (1, 2, 3, 4), shape=(-4, 1, 2, -2)),
    case("Reshape", (2, 3, 4), (2, 1, 3, 4), shape=(2, -4, -1, 3, -2)),
    case("Reshape", (8, 3), (2, 4, 3), shape=(-4, 2, -1, 0)),
    case("Reshape", (10, 5, 4), (40, 5), shape=(-1, 0)),
    case("Reshape", (10, 5, 4), (50, 4), shape=(-1, 0), reverse=True),
    case("Reshape", (8, 3, 3, 3, 4, 4), (8, 3, 9, 4, 4), shape=(0, 0, -3, 0, 0)),
    case("Reshape", (2, 3, 4), (2, 12), target_shape=(2, 0)),
    case("Reshape", (2, 3, 4), (2, 12), target_shape=(7, 0), keep_highest=True),
    case("Reshape", (2, 20, 3, 2), (2, 120), shape=(0, -1)),
    case("Reshape", (2, 20, 3, 2), (2, 3, 20, 2), shape=(2, 3, 20, 2)),
    case("Reshape", (2, 20, 3, 2), (2, 20, 3, 2), shape=(0, 0, 0, 0)),
    case("Reshape", (1, 3, 2, 2), (12,), shape=(-1,)),
    case("Reshape", (0, 3), (3, 0), shape=(3, -1)),
    case("Reshape", (), (1,), shape=(1,)),
    case("Flatten", (2, 3, 4), (2, 12), ALL), case("Flatten", (3,), (3, 1)),
    case("Flatten", (2, 20, 3, 2), (2, 120)), case("Flatten", (2, 20, 1, 1), (2, 20)),
    case("Flatten", (2, 3), (2, 3)), case("Flatten", (0, 3, 2), (0, 6)),
    case("Flatten", (1, 3, 2, 2, 2), (1, 24)),
    case("expand_dims", (2, 3), (1, 2, 3), ALL, axis=0), case("expand_dims", (2, 3), (2, 1, 3),
                                                              axis=1),
    case("expand_dims", (2, 3), (2, 3, 1), axis=-1), case("expand_dims", (2, 3), (1, 2, 3),
                                                          axis=-3),
    case("expand_dims", (2, 20, 3, 2), (2, 1, 20, 3, 2), axis=1),
    case("expand_dims", (0,), (0, 1), axis=1), case("expand_dims", (), (1,), axis=0),
    case("squeeze", (1, 2, 1, 3), (2, 3), ALL), case("squeeze", (1, 2, 1, 3), (2, 1, 3), axis=0),
    case("squeeze", (1, 2, 1, 3), (2, 3), axis=(0, -2)), case("squeeze", (1, 1), (1,)),
    case("squeeze", (2, 3), (2, 3)), case("squeeze", (1, 20, 3, 2), (20, 3, 2), axis=0),
    case("squeeze", (1, 0), (0,)),
]
