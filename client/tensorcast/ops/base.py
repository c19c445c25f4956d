"""What every op class has: a name on the wire, typed attributes, a number of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

    def input_count_problem(self, count: int) -> str | None:
        """What is wrong with so many inputs, in words; None where nothing is."""
        low, high = self.min_inputs, self.max_inputs
        if count >= low and (high is None or count <= high):
            return None
        wanted = f"at least {low}" if high is None else f"{low}" if low == high else f"{low} to {high}"
        return f"{self.name} takes {wanted} input{'' if wanted.endswith(' 1') or wanted == '1' else 's'}, not {count}"
