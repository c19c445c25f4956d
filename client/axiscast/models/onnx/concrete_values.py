"""The values in shape inference with given sizes. A value consists of a type and, if known, its elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto
from onnx.numpy_helper import to_array

from .file import MAX_CONSTANT_ELEMENTS

UNKNOWN_SIZE = 2**31 - 1
"""The integer that represents an unknown size."""


class KnownValue(NamedTuple):
    """What is known about a value in shape inference with given sizes: its type, shape and elements."""

    type: TypeProto
    """The type and the shape of the value. The type is empty if it is unknown."""
    array: np.ndarray | None = None
    """The elements of the value, or None if there are too many elements or if the elements are unknown."""


def unknown_value() -> KnownValue:
    """Return a value whose type, shape and elements are all unknown."""
    return KnownValue(TypeProto())


def known_shape(type_: TypeProto) -> list[int] | None:
    """Return the shape of a tensor type, with UNKNOWN_SIZE for unknown sizes, or None if the rank is unknown."""
    if not type_.tensor_type.HasField("shape"):
        return None
    return [size.dim_value if size.HasField("dim_value") else UNKNOWN_SIZE for size in type_.tensor_type.shape.dim]


def element_count(type_: TypeProto) -> int:
    """Return the number of elements of a tensor. If this number is unknown, return a large integer."""
    shape = known_shape(type_)
    return UNKNOWN_SIZE if shape is None else prod(shape)


def constant_value(tensor: TensorProto) -> KnownValue:
    """Return the value of a constant tensor, such as an initializer."""
    type_ = TypeProto()
    type_.tensor_type.elem_type = tensor.data_type
    type_.tensor_type.shape.SetInParent()
    for size in tensor.dims:
        type_.tensor_type.shape.dim.add(dim_value=size)
    is_external = tensor.data_location == TensorProto.EXTERNAL
    is_short = prod(tensor.dims) <= MAX_CONSTANT_ELEMENTS and tensor.data_type != TensorProto.STRING
    try:
        return KnownValue(type_, to_array(tensor) if is_short and not is_external else None)
    except (ValueError, TypeError):  # the tensor's data has fewer elements than its shape requires
        return KnownValue(type_)


def shape_output(node: NodeProto, type_: TypeProto) -> np.ndarray | None:
    """Return the output array of a Shape or Size node, or None if a size of the input is unknown."""
    shape = known_shape(type_)
    if shape is None or UNKNOWN_SIZE in shape:
        return None
    if node.op_type == "Size":
        return np.array(prod(shape), np.int64)
    ends = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[ends.get("start", 0) : ends.get("end", len(shape))], np.int64)


def loses_all_elements(outputs: Iterable[TypeProto], inputs: Iterable[KnownValue]) -> bool:
    """Return whether an output of a node is empty even though no input is empty."""
    if not any(0 in (known_shape(type_) or ()) for type_ in outputs):
        return False
    known = [(known_shape(value.type) or (), () if value.array is None else value.array) for value in inputs]
    return not any(0 in shape or 0 in array for shape, array in known)


def merge_values(values: Sequence[KnownValue]) -> KnownValue:
    """Merge several values into one value that has only the sizes that are equal in all values."""
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


def add_first_axis(type_: TypeProto) -> KnownValue:
    """Return a value whose shape has a new first axis of unknown length."""
    stacked = TypeProto()
    stacked.CopyFrom(type_)
    if known_shape(type_) is not None:
        del stacked.tensor_type.shape.dim[:]
        stacked.tensor_type.shape.dim.add()
        stacked.tensor_type.shape.dim.extend(type_.tensor_type.shape.dim)
    return KnownValue(stacked)
