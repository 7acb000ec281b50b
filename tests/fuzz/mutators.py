"""Changes of files that keep their form, for readers that refuse most random bytes at once."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

# numbers and texts where readers' conditions change
NUMBERS = (0, 1, 2, 3, -1, 4, 7, 255, 256, 900, 903, 10300, 10901, 2**31 - 1, 2**31, 2**32, 2**63,
           2**64, -2**63, 10**30, 1.5, -0.0, 1e300)
TEXTS = ("", "x", "null", "None", "True", "(1, 1)", "(2,)", "(-1, 0)", "[]", "()", "1e999", "nan",
         "(" * 50, "9" * 300, "262144", "lr_mult", "weight_lr_mult", "__shape__", "float64", "F32",
         "BOOL", "\ud7ff\U0001f600")
Mutator = Callable[[bytes, int, int], bytes]


def json_text(data: bytes, most: int, seed: int) -> bytes:
    """Some changes of values in JSON text; any other bytes as they are."""
    source = random.Random(seed)
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return data[:most]
    for _ in range(source.randint(1, 4)):
        value = _changed(value, source)
    made = json.dumps(value, ensure_ascii=source.random() < 0.5)
    return made.encode("utf-8", "replace")[:most]


def after_length(data: bytes, most: int, seed: int) -> bytes:
    """The same of text behind a word that tells its length, as in files of safetensors."""
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    text = json_text(data[8:8 + length], most - 8, seed)
    return (struct.pack("<Q", len(text)) + text + data[8 + length:])[:most]


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of all values."""
    items = (value.items() if isinstance(value, dict) else enumerate(value)
             if isinstance(value, list) else ())
    for key, inner in items:
        found.append((value, key))
        _places(inner, found)
    return found


def _changed(value: Any, source: random.Random) -> Any:
    places = _places(value, [])
    if not places:
        return _new(source)
    container, key = source.choice(places)
    old = container[key]
    other, other_key = source.choice(places)
    how = source.randrange(7)
    if how == 0:
        del container[key]
    elif how == 1:
        container[key] = _new(source)
    elif how == 2:
        container[key] = json.loads(json.dumps(other[other_key]))
    elif how == 3 and isinstance(container, list):
        container.insert(key, json.loads(json.dumps(old)))
    elif how == 4 and isinstance(container, dict):
        container[source.choice([*TEXTS, key + "_", *_keys(places)])] = old
    elif how == 5 and isinstance(old, (int, float)):
        container[key] = old + source.choice((-1, 1, 2, 8))
    elif isinstance(old, str):
        at = source.randrange(len(old) + 1)
        container[key] = old[:at] + source.choice(TEXTS) + old[at + source.randrange(3):]
    else:
        container[key] = [old]
    return value


def _keys(places: list[tuple[Any, Any]]) -> list[str]:
    return [key for _, key in places if isinstance(key, str)]


def _new(source: random.Random) -> Any:
    return source.choice([*NUMBERS, *TEXTS, None, True, False, [], {}, [0, 0], [0, 0, 0]])


def onnx_model(data: bytes, most: int, seed: int) -> bytes:
    """Some changes of fields of an ONNX model; any other bytes as they are."""
    from google.protobuf.message import DecodeError
    from onnx import ModelProto
    source = random.Random(seed)
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return data[:most]
    for _ in range(source.randint(1, 4)):
        messages = _messages(model, [])
        message = source.choice(messages)
        # those that are no text are bytes
        names = [name for node in messages if node.DESCRIPTOR.name == "NodeProto"
                 for name in (*node.input, *node.output) if isinstance(name, str)]
        _change_field(message, source.choice(message.DESCRIPTOR.fields), source, names)
    made: bytes = model.SerializeToString()
    return made if len(made) <= most else data[:most]


def _messages(message: Any, found: list[Any]) -> list[Any]:
    found.append(message)
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for inner in value if _is_list(field) else [value]:
                _messages(inner, found)
    return found


def _is_list(field: Any) -> bool:
    repeated: bool = field.is_repeated
    return repeated


def _change_field(message: Any, field: Any, source: random.Random, names: list[str]) -> None:
    values = getattr(message, field.name)
    if not _is_list(field):
        if field.message_type is not None:
            message.ClearField(field.name) if source.random() < 0.5 else values.SetInParent()
        else:
            setattr(message, field.name, _for_field(field, source, names))
    elif values and source.random() < 0.3:
        del values[source.randrange(len(values))]
    elif field.message_type is not None:
        if values and source.random() < 0.7:
            values.add().CopyFrom(source.choice(list(values)))
        else:
            values.add()
    elif values and source.random() < 0.5:
        values[source.randrange(len(values))] = _for_field(field, source, names)
    else:
        values.append(_for_field(field, source, names))


@cache
def _operators() -> list[str]:
    from ndarray_rt.onnx.index import FAMILIES
    return [name for names in FAMILIES.values() for name in names.split()]


def _for_field(field: Any, source: random.Random, names: list[str]) -> Any:
    if field.name == "op_type":
        return source.choice(_operators())
    if field.enum_type is not None:
        return source.choice(field.enum_type.values).number
    if field.cpp_type == field.CPPTYPE_STRING:
        text = source.choice([*TEXTS, *names, *names, "../x", "/dev/zero"])
        return text.encode() if field.type == field.TYPE_BYTES else text
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return float(source.choice((0, 1, -1, 1e30, float("nan"), float("inf"))))
    bits = 31 if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 63
    low = 0 if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64) else -(1 << bits)
    number = int(source.choice([n for n in NUMBERS if isinstance(n, int)]))
    return min(max(number, low), (1 << bits) - 1)
