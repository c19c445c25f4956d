"""Where the tensors of a watched block come from, as the rule of what is meant asks it (answers/intent.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any
from weakref import ref

from ..answers.intent import Origin, Way

Source = tuple[int, Any]
"""The id of a tensor, and a reference of torch's that knows whether it lives. Python's would be seen by the program."""
Note = tuple[Way, CodeType | None, int, Source, bool, ref[Any]]
"""What is known of a tensor, as a tuple, which is made faster than an object: how its axis of size 1 was written (see
Origin), the code and the instruction that wrote it, the tensor that it was made from without mixing in others, whether
it holds positions, and a reference to the tensor. A tensor that was made from no other one is its own source."""


class _Unknown:
    """The reference to a tensor that nothing needs to know."""

    def expired(self) -> bool:
        return True


_UNKNOWN = (0, _Unknown())
_LEAST_NOTES = 1000


class Origins:
    """What is known of the tensors that live: those with an axis of size 1 that was written, and those of positions."""

    def __init__(self, weak: Callable[[Any], Any]) -> None:
        self.weak = weak
        """Makes a reference of torch's to a tensor."""
        self.known: dict[int, Note] = {}
        """The notes by the ids of tensors. Those of tensors that are gone are removed now and then."""
        self.has_positions = False
        self._most = _LEAST_NOTES

    def write(self, tensor: Any, way: Way, frame: FrameType, made_of: Any) -> None:
        """Note that an axis of `tensor` was written where `frame` is; it is made of one other tensor."""
        before = self.known.get(id(made_of))
        if before is None or before[5]() is not made_of:
            source, is_index = (id(made_of), self.weak(made_of)), False
        else:
            source, is_index = before[3:5]
        self._keep(tensor, (way, frame.f_code, frame.f_lasti, source, is_index, ref(tensor)))

    def count(self, tensor: Any) -> None:
        """Note that a tensor is a range."""
        self.has_positions = True
        self._keep(tensor, ("", None, 0, _UNKNOWN, True, ref(tensor)))

    def derive(self, tensor: Any, operands: Sequence[Any], has_axis: bool) -> None:
        """Note that a tensor was made of others element by element, if it has an axis of size 1 or holds positions."""
        notes = [self._note(operand) for operand in operands]
        is_index = all(note[4] for note in notes)
        if not notes or not (has_axis or is_index):
            return
        written = next((note for note in notes if note[0] and has_axis), ("", None, 0))
        first = notes[0][3]
        is_one = all(note[3][0] == first[0] and not note[3][1].expired() for note in notes)
        source = first if is_one else (id(tensor), self.weak(tensor))
        self._keep(tensor, (*written[:3], source, is_index, ref(tensor)))

    def _keep(self, tensor: Any, note: Note) -> None:
        known = self.known
        known[id(tensor)] = note
        if len(known) > self._most:
            for key in [key for key, note in known.items() if note[5]() is None]:
                del known[key]
            self._most = max(2 * len(known), _LEAST_NOTES)

    def origin(self, tensor: Any, whole: Any, frames: Sequence[FrameType]) -> Origin:
        """Return where a tensor comes from: an operand of the operation that `frames` call, innermost first. If it is a
        view of all of another tensor, that one is the `whole`."""
        way, code, instruction, source, is_index, _ = self._note(tensor)
        is_here = any(_is_inside(code, instruction, frame) for frame in frames)
        number, reference = source if whole is None else self._note(whole)[3]
        return Origin(way, is_here, object() if reference.expired() else number, is_index)

    def _note(self, tensor: Any) -> Note:
        note = self.known.get(id(tensor))
        if note is not None and note[5]() is tensor:
            return note
        return "", None, 0, (id(tensor), self.weak(tensor)), False, ref(tensor)


def _is_inside(code: CodeType | None, instruction: int, frame: FrameType) -> bool:
    """Return whether an instruction belongs to the expression at which a frame is."""
    if code is not frame.f_code:
        return False
    inner, outer = _span(code, instruction), _span(code, frame.f_lasti)
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _span(code: CodeType, instruction: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the line and column where the expression of an instruction begins, and where it ends. Without columns
    (`python -X no_debug_ranges`) it is the whole line."""
    line, last, start, end = next(islice(code.co_positions(), instruction // 2, None))
    if start is None or end is None:
        return (line or 0, 0), (last or line or 0, 1 << 30)
    return (line or 0, start), (last or line or 0, end)
