"""What every op class has: a name on the wire, typed attributes, a number of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from ..schema.dimensions import Symbol


class Op(BaseModel):
    """One broadcasting operation of one framework, with its attributes.

    Frozen and hashable. Attributes have the framework's own names; the class has its own spelling.
    A mistaken attribute raises pydantic's ValidationError, which is a ValueError.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_inputs: ClassVar[int] = 1
    max_inputs: ClassVar[int | None] = 1
    """None: any number."""
    outputs: ClassVar[str] = "1"
    """How many tensors come out, for people."""
    target: ClassVar[str | None] = None
    """The attribute that holds the shape to reach, if the op has one."""
    name: str

    def symbols(self) -> Iterator[tuple[str, int, Symbol]]:
        """Every symbolic size in the attributes: (attribute, axis, symbol)."""
        for attribute, value in self.__dict__.items():
            if type(value) is tuple:
                yield from ((attribute, axis, size) for axis, size in enumerate(value) if type(size) is Symbol)

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        """The largest rank that a request names or makes: of an input, the target attribute, or an output."""
        target = getattr(self, self.target) if self.target else None
        return max(map(len, [*shapes, *([target] if target is not None else [])]))

    @classmethod
    def output_count(cls, inputs: int) -> int:
        """How many tensors come out of so many."""
        return {"none": 0, "1": 1, "2": 2}.get(cls.outputs, inputs)

    def output_shapes(self, shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...] | None]:
        """The shape of each output of inputs that do broadcast; None where that takes the op's whole rule to say.

        For inputs that do not, it may be anything, and raise anything.
        """
        return [self.output_shape(shapes)] * self.output_count(len(shapes))

    def output_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
        """The same, of an op whose outputs have one shape: that of `target`, whose -1 are the input's own sizes."""
        target = getattr(self, self.target) if self.target else None
        if target is None:
            return None
        return tuple(
            size if size >= 0 else shapes[0][len(shapes[0]) - place]
            for size, place in zip(target, range(len(target), 0, -1), strict=True)
        )

    def input_count_problem(self, count: int) -> str | None:
        """What is wrong with so many inputs, in words; None where nothing is."""
        low, high = self.min_inputs, self.max_inputs
        if count >= low and (high is None or count <= high):
            return None
        wanted = f"at least {low}" if high is None else f"{low}" if low == high else f"{low} to {high}"
        return f"{self.name} takes {wanted} input{'' if wanted.endswith(' 1') or wanted == '1' else 's'}, not {count}"


def met(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that these reach where each may stretch: aligned right, the size that is not 1."""
    sizes = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return tuple(next((size for size in meeting if size != 1), 1) for meeting in sizes)[::-1]
