"""The origins of tensors in a watched block. The rule in models/intent.py uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Literal
from weakref import ref

from ..models.intent import AxisOrigin, Origin, elementwise_origin

SourceTensor = tuple[int, Any]
"""The id of a tensor, and a weak reference of torch's own kind, which the user's program can't detect.

The reference is None if there is no tensor.
"""
Location = tuple[CodeType, int]
"""A code object and the position of an instruction in it."""
OriginRecord = tuple[AxisOrigin, Location | None, SourceTensor, bool, ref[Any]]
"""The origin of a tensor, as a tuple, because Python creates tuples faster than objects.

The elements of the tuple are:
- how the code added the tensor's axis of size 1 (see Origin);
- the location of the code that added this axis;
- the single source tensor from which the tensor was computed, or the tensor itself;
- whether the tensor contains positions;
- a weak reference to the tensor.
"""


_NO_SOURCE = (0, None)
_MIN_RECORDS = 1000
"""The minimum number of records that triggers the removal of the records of deleted tensors."""


class TensorOrigins:
    """The origins of all live tensors that contain positions, or that have an axis of size 1 from the user's code."""

    def __init__(self, weak_reference: Callable[[Any], Any]) -> None:
        self.weak_reference = weak_reference
        """A function that takes a tensor and returns torch's own weak reference to the tensor."""
        self.records: dict[int, OriginRecord] = {}
        """The records, keyed by tensor id. The records of deleted tensors are removed from time to time."""
        self.has_positions = False
        self._max_records = _MIN_RECORDS

    def add_written(self, tensor: Any, axis_origin: AxisOrigin, frame: FrameType, operand: Any) -> None:
        """Record that code in this frame made `tensor` from `operand` by adding an axis of size 1."""
        before = self.records.get(id(operand))
        if before is None or before[4]() is not operand:
            source, is_index = (id(operand), self.weak_reference(operand)), False
        else:
            source, is_index = before[2:4]
        self._add(tensor, (axis_origin, (frame.f_code, frame.f_lasti), source, is_index, ref(tensor)))

    def add_range(self, tensor: Any) -> None:
        """Record a tensor that contains a range, such as the result of torch.arange."""
        self.has_positions = True
        self._add(tensor, ("", None, _NO_SOURCE, True, ref(tensor)))

    def add_derived(self, tensor: Any, operands: Sequence[Any], has_axis: bool) -> None:
        """Record a tensor that was computed element by element from its operands.

        The tensor is recorded only if it has an axis of size 1 or contains positions.
        """
        records = [self._record(operand) for operand in operands]
        if not records:
            return
        known = [(*record[:2], _key(record[2]), record[3]) for record in records]
        axis_origin, location, key, is_index = elementwise_origin(known)
        if has_axis or is_index:
            source = (id(tensor), self.weak_reference(tensor)) if key is None else records[0][2]
            written = (axis_origin, location) if has_axis else ("", None)
            self._add(tensor, (*written, source, is_index, ref(tensor)))

    def _add(self, tensor: Any, record: OriginRecord) -> None:
        records = self.records
        records[id(tensor)] = record
        if len(records) > self._max_records:
            for key in [key for key, each in records.items() if each[4]() is None]:
                del records[key]
            self._max_records = max(2 * len(records), _MIN_RECORDS)

    def origin(self, tensor: Any, base: Any, frames: Sequence[FrameType]) -> Origin:
        """Return the origin of an operand. `frames` are the frames that call the operation, innermost first.

        If the operand is a view of all elements of another tensor, `base` is that tensor. Otherwise it is None.
        """
        axis_origin, location, source, is_index, _ = self._record(tensor)
        is_here = location is not None and any(_is_inside(*location, frame) for frame in frames)
        return Origin(axis_origin, is_here, _key(source if base is None else self._record(base)[2]), is_index)

    def _record(self, tensor: Any) -> OriginRecord:
        record = self.records.get(id(tensor))
        if record is not None and record[4]() is tensor:
            return record
        return "", None, (id(tensor), self.weak_reference(tensor)), False, ref(tensor)


def _key(source: SourceTensor) -> object:
    """Return a key that is equal for equal source tensors that still exist."""
    number, reference = source
    return object() if reference is None or reference.expired() else number


def _is_inside(code: CodeType, instruction: int, frame: FrameType) -> bool:
    """Return whether an instruction is part of the expression that a frame is currently executing."""
    if code is not frame.f_code:
        return False
    inner, outer = _span(code, instruction), _span(code, frame.f_lasti)
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _span(code: CodeType, instruction: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the start and the end of an instruction's expression in the source code, each as a line and a column.

    If Python runs without column numbers (`-X no_debug_ranges`), return the range of the whole line.
    """
    line, last, start, end = next(islice(code.co_positions(), instruction // 2, None))
    if start is None or end is None:
        return (line or 0, 0), (last or line or 0, 1 << 30)
    return (line or 0, start), (last or line or 0, end)


def written_axis_origin(
    axis: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> AxisOrigin | Literal["range"]:
    """Return the way in which a call adds an axis of size 1, "" if it adds none, or "range" if it returns a range."""
    if axis == "index":
        index = args[1]
        return "index" if index is None or (type(index) is tuple and any(part is None for part in index)) else ""
    if axis == "keepdim":
        return "reduction" if (kwargs and kwargs.get("keepdim")) or any(part is True for part in args) else ""
    return "unsqueeze" if axis == "always" else "range"


def is_basic_index(index: Any) -> bool:
    """Return whether an index contains only integers, slices, None and `...`, but no tensors."""
    parts = index if type(index) is tuple else (index,)
    return all(part is None or part is ... or isinstance(part, slice | int) for part in parts)
