"""Values in shape inference at given sizes: their types, and their elements if those are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto
from onnx.numpy_helper import from_array, to_array

from .file import MAX_CONSTANT_ELEMENTS

UNKNOWN_SIZE = 2**31 - 1
"""The number that stands for an unknown size."""


class KnownValue(NamedTuple):
    """The facts about a value at given sizes."""

    type: TypeProto
    """The type and the shape of the value. An empty type is unknown."""
    array: np.ndarray | None = None
    """The elements of the value if they are few and known."""


def unknown_value() -> KnownValue:
    """Return a value about which nothing is known."""
    return KnownValue(TypeProto())


def known_shape(type_: TypeProto) -> list[int] | None:
    """Return the shape of a tensor, with UNKNOWN_SIZE for unknown sizes, or None if its rank is unknown."""
    if not type_.tensor_type.HasField("shape"):
        return None
    return [size.dim_value if size.HasField("dim_value") else UNKNOWN_SIZE for size in type_.tensor_type.shape.dim]


def is_fully_known(type_: TypeProto) -> bool:
    """Return whether all sizes of a tensor are known."""
    shape = known_shape(type_)
    return shape is not None and UNKNOWN_SIZE not in shape


def element_count(type_: TypeProto) -> int:
    """Return the number of elements of a tensor, which is large if it is unknown."""
    shape = known_shape(type_)
    return UNKNOWN_SIZE if shape is None else prod(shape)


def constant_value(tensor: TensorProto) -> KnownValue:
    """Return the value of an initializer."""
    type_ = TypeProto()
    type_.tensor_type.elem_type = tensor.data_type
    type_.tensor_type.shape.SetInParent()
    for size in tensor.dims:
        type_.tensor_type.shape.dim.add(dim_value=size)
    is_external = tensor.data_location == TensorProto.EXTERNAL
    is_short = prod(tensor.dims) <= MAX_CONSTANT_ELEMENTS and tensor.data_type != TensorProto.STRING
    try:
        return KnownValue(type_, to_array(tensor) if is_short and not is_external else None)
    except (ValueError, TypeError):  # the tensor has fewer elements than its sizes require
        return KnownValue(type_)


def constant_output(node: NodeProto) -> KnownValue:
    """Return the output of a Constant node."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            return constant_value(attribute.t)
        if attribute.name in ("value_int", "value_ints"):
            integers = attribute.i if attribute.name == "value_int" else list(attribute.ints)
            return constant_value(from_array(np.array(integers, np.int64)))
        if attribute.name in ("value_float", "value_floats"):
            reals = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            return constant_value(from_array(np.array(reals, np.float32)))
    return unknown_value()


def shape_output(node: NodeProto, type_: TypeProto) -> np.ndarray | None:
    """Return the output of a Shape or Size node, or None if a size is unknown."""
    shape = known_shape(type_)
    if shape is None or UNKNOWN_SIZE in shape:
        return None
    if node.op_type == "Size":
        return np.array(prod(shape), np.int64)
    ends = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[ends.get("start", 0) : ends.get("end", len(shape))], np.int64)


def loses_all_elements(outputs: Iterable[TypeProto], inputs: Iterable[KnownValue]) -> bool:
    """Return whether an output has no elements although every input has some."""
    if not any(0 in (known_shape(type_) or ()) for type_ in outputs):
        return False
    return not any(
        0 in (known_shape(value.type) or ()) or (value.array is not None and 0 in value.array) for value in inputs
    )


def merge_values(values: Sequence[KnownValue]) -> KnownValue:
    """Return what several values have in common: the sizes that are equal in all of them."""
    if not values or any(value.type.WhichOneof("value") != "tensor_type" for value in values):
        return unknown_value()
    shapes = [known_shape(value.type) for value in values]
    type_ = TypeProto()
    type_.CopyFrom(values[0].type)
    if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
        type_.tensor_type.ClearField("shape")
        return KnownValue(type_)
    for axis, size in enumerate(type_.tensor_type.shape.dim):
        if len({shape[axis] for shape in shapes if shape is not None}) > 1:
            size.Clear()
    return KnownValue(type_, values[0].array if len(values) == 1 else None)


def add_first_axis(type_: TypeProto, length: int) -> KnownValue:
    """Return a value with a new first axis, whose length is unknown if `length` is 0."""
    stacked = TypeProto()
    stacked.CopyFrom(type_)
    if known_shape(type_) is not None:
        del stacked.tensor_type.shape.dim[:]
        first = stacked.tensor_type.shape.dim.add()
        if length:
            first.dim_value = length
        stacked.tensor_type.shape.dim.extend(type_.tensor_type.shape.dim)
    return KnownValue(stacked)


def remove_first_axis(value: KnownValue) -> KnownValue:
    """Return a value without its first axis."""
    type_ = TypeProto()
    type_.CopyFrom(value.type)
    if known_shape(value.type):
        del type_.tensor_type.shape.dim[0]
    return KnownValue(type_)
