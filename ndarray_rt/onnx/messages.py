"""The messages of ONNX files, as far as they are read: fields by number, as onnx.proto has them.

Objects have the attributes of the classes of the package onnx, so that a reader takes either.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

TEXT, BYTES, MESSAGE, INT, INT32, UINT64, FLOAT, DOUBLE = range(8)
# array.array's letters for numbers of tensors, which may be many
DENSE = {INT: "q", INT32: "i", UINT64: "Q", FLOAT: "f", DOUBLE: "d"}
_DEFAULTS: dict[int, Any] = {TEXT: "", BYTES: b"", FLOAT: 0.0, DOUBLE: 0.0}


class Field(NamedTuple):
    """A field of a message. `dense`: the numbers of a tensor, in an array of the standard library.
    """

    name: str
    kind: int
    is_list: bool = False
    message: type[Message] | None = None
    dense: bool = False


class Message:
    """A message: what the file has are attributes of the object, the rest defaults of its class."""

    fields: ClassVar[dict[int, Field]] = {}
    # fields of which only the last one that the file has counts, by name
    one_of: ClassVar[frozenset[str]] = frozenset()

    def HasField(self, name: str) -> bool:  # noqa: N802 - as in the package
        """Whether the file has a value for it."""
        return name in self.__dict__

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 - as in the package
        """The field of the only group, None where the file has none of them."""
        return next((name for name in self.__dict__ if name in self.one_of), None)


def _defines(kind: type[Message], fields: dict[int, Field], *one_of: str) -> None:
    kind.fields, kind.one_of = fields, frozenset(one_of)
    for field in fields.values():
        default: Any = () if field.is_list else _DEFAULTS.get(field.kind, 0)
        if field.message is not None and not field.is_list:
            default = field.message()
        setattr(kind, field.name, default)


def _one(name: str, kind: int | type[Message]) -> Field:
    return Field(name, kind) if isinstance(kind, int) else Field(name, MESSAGE, False, kind)


def _many(name: str, kind: int | type[Message]) -> Field:
    return Field(name, kind, True) if isinstance(kind, int) else Field(name, MESSAGE, True, kind)


class StringStringEntryProto(Message):
    pass


class OperatorSetIdProto(Message):
    pass


class TensorProto(Message):
    pass


class SparseTensorProto(Message):
    pass


class Dimension(Message):
    pass


class TensorShapeProto(Message):
    pass


class Tensor(Message):
    pass


class TypeProto(Message):
    pass


class ValueInfoProto(Message):
    pass


class AttributeProto(Message):
    pass


class NodeProto(Message):
    pass


class GraphProto(Message):
    pass


class FunctionProto(Message):
    pass


class ModelProto(Message):
    pass


class Other(Message):
    """A message of which nothing but its presence is read."""


_defines(StringStringEntryProto, {1: _one("key", TEXT), 2: _one("value", TEXT)})
_defines(OperatorSetIdProto, {1: _one("domain", TEXT), 2: _one("version", INT)})
_defines(TensorProto, {
    1: _many("dims", INT), 2: _one("data_type", INT32), 8: _one("name", TEXT),
    9: _one("raw_data", BYTES), 6: _many("string_data", BYTES),
    4: Field("float_data", FLOAT, True, dense=True),
    5: Field("int32_data", INT32, True, dense=True),
    7: Field("int64_data", INT, True, dense=True),
    10: Field("double_data", DOUBLE, True, dense=True),
    11: Field("uint64_data", UINT64, True, dense=True),
    13: _many("external_data", StringStringEntryProto), 14: _one("data_location", INT32)})
_defines(SparseTensorProto, {1: _one("values", TensorProto), 2: _one("indices", TensorProto),
                             3: _many("dims", INT)})
_defines(Dimension, {1: _one("dim_value", INT), 2: _one("dim_param", TEXT)},
         "dim_value", "dim_param")
_defines(TensorShapeProto, {1: _many("dim", Dimension)})
_defines(Tensor, {1: _one("elem_type", INT32), 2: _one("shape", TensorShapeProto)})
_defines(TypeProto, {
    1: _one("tensor_type", Tensor), 4: _one("sequence_type", Other), 5: _one("map_type", Other),
    7: _one("opaque_type", Other), 8: _one("sparse_tensor_type", Other),
    9: _one("optional_type", Other)},
    "tensor_type", "sequence_type", "map_type", "opaque_type", "sparse_tensor_type",
    "optional_type")
_defines(ValueInfoProto, {1: _one("name", TEXT), 2: _one("type", TypeProto)})
_defines(GraphProto, {
    1: _many("node", NodeProto), 2: _one("name", TEXT), 5: _many("initializer", TensorProto),
    10: _one("doc_string", TEXT), 11: _many("input", ValueInfoProto),
    12: _many("output", ValueInfoProto), 15: _many("sparse_initializer", SparseTensorProto)})
_defines(AttributeProto, {
    1: _one("name", TEXT), 2: _one("f", FLOAT), 3: _one("i", INT), 4: _one("s", BYTES),
    5: _one("t", TensorProto), 6: _one("g", GraphProto), 7: _many("floats", FLOAT),
    8: _many("ints", INT), 9: _many("strings", BYTES), 10: _many("tensors", TensorProto),
    11: _many("graphs", GraphProto), 14: _one("tp", TypeProto), 20: _one("type", INT32),
    21: _one("ref_attr_name", TEXT), 22: _one("sparse_tensor", SparseTensorProto)})
_defines(NodeProto, {
    1: _many("input", TEXT), 2: _many("output", TEXT), 3: _one("name", TEXT),
    4: _one("op_type", TEXT), 5: _many("attribute", AttributeProto), 7: _one("domain", TEXT),
    8: _one("overload", TEXT)})
_defines(FunctionProto, {
    1: _one("name", TEXT), 4: _many("input", TEXT), 5: _many("output", TEXT),
    6: _many("attribute", TEXT), 7: _many("node", NodeProto),
    9: _many("opset_import", OperatorSetIdProto), 10: _one("domain", TEXT),
    11: _many("attribute_proto", AttributeProto), 13: _one("overload", TEXT)})
_defines(ModelProto, {
    1: _one("ir_version", INT), 2: _one("producer_name", TEXT),
    3: _one("producer_version", TEXT), 4: _one("domain", TEXT), 5: _one("model_version", INT),
    6: _one("doc_string", TEXT), 7: _one("graph", GraphProto),
    8: _many("opset_import", OperatorSetIdProto),
    14: _many("metadata_props", StringStringEntryProto), 25: _many("functions", FunctionProto)})
