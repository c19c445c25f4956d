"""The origins of tensors in a watched block. The rule in answers/intent.py uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Literal
from weakref import ref

from ..answers.intent import AxisOrigin, Origin

SourceTensor = tuple[int, Any]
"""The id of a tensor, and a weak reference of torch's own kind, which the user's program can't detect."""
OriginRecord = tuple[AxisOrigin, CodeType | None, int, SourceTensor, bool, ref[Any]]
"""The origin of a tensor, as a tuple, because Python creates tuples faster than objects.

The elements of the tuple are:
- how the code added the tensor's axis of size 1 (see Origin);
- the code object and the instruction that added this axis;
- the single source tensor from which the tensor was computed, or the tensor itself;
- whether the tensor contains positions;
- a weak reference to the tensor.
"""


class _NoReference:
    """A placeholder that replaces a weak reference if there is no tensor."""

    def expired(self) -> bool:
        return True


_NO_SOURCE = (0, _NoReference())
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
        if before is None or before[5]() is not operand:
            source, is_index = (id(operand), self.weak_reference(operand)), False
        else:
            source, is_index = before[3:5]
        self._add(tensor, (axis_origin, frame.f_code, frame.f_lasti, source, is_index, ref(tensor)))

    def add_range(self, tensor: Any) -> None:
        """Record a tensor that contains a range, such as the result of torch.arange."""
        self.has_positions = True
        self._add(tensor, ("", None, 0, _NO_SOURCE, True, ref(tensor)))

    def add_derived(self, tensor: Any, operands: Sequence[Any], has_axis: bool) -> None:
        """Record a tensor that was computed element by element from its operands.

        The tensor is recorded only if it has an axis of size 1 or contains positions.
        """
        records = [self._record(operand) for operand in operands]
        is_index = all(record[4] for record in records)
        if not records or not (has_axis or is_index):
            return
        written = next((record for record in records if record[0] and has_axis), ("", None, 0))
        first_source = records[0][3]
        has_one_source = all(record[3][0] == first_source[0] and not record[3][1].expired() for record in records)
        source = first_source if has_one_source else (id(tensor), self.weak_reference(tensor))
        self._add(tensor, (*written[:3], source, is_index, ref(tensor)))

    def _add(self, tensor: Any, record: OriginRecord) -> None:
        records = self.records
        records[id(tensor)] = record
        if len(records) > self._max_records:
            for key in [key for key, each in records.items() if each[5]() is None]:
                del records[key]
            self._max_records = max(2 * len(records), _MIN_RECORDS)

    def origin(self, tensor: Any, base: Any, frames: Sequence[FrameType]) -> Origin:
        """Return the origin of an operand. `frames` are the frames that call the operation, innermost first.

        If the operand is a view of all elements of another tensor, `base` is that tensor. Otherwise it is None.
        """
        axis_origin, code, instruction, source, is_index, _ = self._record(tensor)
        is_here = any(_is_inside(code, instruction, frame) for frame in frames)
        number, reference = source if base is None else self._record(base)[3]
        return Origin(axis_origin, is_here, object() if reference.expired() else number, is_index)

    def _record(self, tensor: Any) -> OriginRecord:
        record = self.records.get(id(tensor))
        if record is not None and record[5]() is tensor:
            return record
        return "", None, 0, (id(tensor), self.weak_reference(tensor)), False, ref(tensor)


def _is_inside(code: CodeType | None, instruction: int, frame: FrameType) -> bool:
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
