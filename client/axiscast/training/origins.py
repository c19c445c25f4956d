"""The origins of tensors in a watched block. The rule in models/intent.py uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Literal

from ..models.intent import AxisOrigin, Origin, elementwise_origin

Location = tuple[CodeType, int]
"""A code object and the position of an instruction in it."""
OriginRecord = tuple[AxisOrigin, Location | None, object, bool, Any]
"""The origin of a tensor, as a tuple, because Python creates tuples faster than objects.

The elements of the tuple are:
- how the code added the tensor's axis of size 1 (see Origin);
- the location of the code that added this axis;
- an object that stands for the single source tensor from which the tensor was computed, or for the tensor itself;
- whether the tensor contains positions;
- a weak reference to the tensor, of torch's own kind, which the user's program can't detect.
"""


_MIN_RECORDS = 1000
"""The minimum number of records that triggers the removal of the records of deleted tensors."""


class TensorOrigins:
    """The origins of live tensors that contain positions, or that have an axis of size 1 from the user's code.

    The origins of a tensor to which an axis was added, and of vectors that are functions of it, are included too.
    """

    def __init__(self, weak_reference: Callable[[Any], Any], whole_base: Callable[[Any], Any]) -> None:
        self.weak_reference = weak_reference
        """A function that takes a tensor and returns torch's own weak reference to the tensor."""
        self.whole_base = whole_base
        """A function that returns the base tensor of a view of all of its elements, or None for any other tensor."""
        self.records: dict[int, OriginRecord] = {}
        """The records, keyed by tensor id. The records of deleted tensors are removed from time to time."""
        self.has_positions = False
        self._max_records = _MIN_RECORDS

    def add_written(self, tensor: Any, axis_origin: AxisOrigin, frame: FrameType, operand: Any) -> None:
        """Record that code in this frame made `tensor` from `operand` by adding an axis of size 1."""
        _, _, source, is_index, _ = self._record(operand)
        self._add(tensor, axis_origin, (frame.f_code, frame.f_lasti), source, is_index)

    def add_range(self, tensor: Any) -> None:
        """Record a tensor that contains a range, such as the result of torch.arange."""
        self.has_positions = True
        self._add(tensor, "", None, object(), True)

    def add_derived(self, tensor: Any, operands: Sequence[Any], has_axis: bool, is_whole: bool) -> None:
        """Record a tensor that was computed element by element from its operands, or whose elements were selected.

        The tensor is recorded only if it has an axis of size 1, contains positions, or `is_whole` is true and it was
        computed from a single source. `is_whole` says whether the tensor is a vector of all elements of an operand.
        """
        if not operands:
            return
        axis_origin, location, source, is_index = elementwise_origin([*map(self._record, operands)])
        if has_axis:
            self._add(tensor, axis_origin, location, source or object(), is_index)
        elif is_index or (is_whole and source is not None):
            self._add(tensor, "", None, source or object(), is_index)
        else:  # an operation in place can change the origin
            self.records.pop(id(tensor), None)

    def _add(
        self, tensor: Any, axis_origin: AxisOrigin, location: Location | None, source: object, is_index: bool
    ) -> OriginRecord:
        records = self.records
        record = records[id(tensor)] = (axis_origin, location, source, is_index, self.weak_reference(tensor))
        if len(records) > self._max_records:
            for key in [key for key, each in records.items() if each[4].expired()]:
                del records[key]
            self._max_records = max(2 * len(records), _MIN_RECORDS)
        return record

    def origin(self, tensor: Any, frames: Sequence[FrameType]) -> Origin:
        """Return the origin of an operand. `frames` are the frames that call the operation, innermost first."""
        axis_origin, location, source, is_index, _ = self._record(tensor)
        is_here = location is not None and any(_is_inside(*location, frame) for frame in frames)
        return Origin(axis_origin, is_here, source, is_index)

    def has_record(self, tensor: Any) -> bool:
        record = self.records.get(id(tensor))
        return record is not None and not record[4].expired()

    def _record(self, tensor: Any) -> OriginRecord:
        """Return the record of a tensor. If there is none, add a record that names the tensor as its own source."""
        if self.has_record(tensor):
            return self.records[id(tensor)]
        base = self.whole_base(tensor)
        return self._add(tensor, "", None, object() if base is None else self._record(base)[2], False)


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
