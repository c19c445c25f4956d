"""einops: repeat, whose pattern names the input's axes on the left and the output's axes on the right.

A name that appears only on the right is a new axis, along which the input is replicated. The length of a new axis is in
`axes_lengths`. Parentheses on the left split an axis, and parentheses on the right merge axes. `...` stands for the
axes that have no name. No axis expands: a 1 on the left is removed. A name on both sides is a single axis with one
length.
"""

# `repeat.sides` parses a pattern into two tuples of groups, and `repeat.align` assigns the names to axes.
# `repeat.from_plan` does the reverse: it names the input's axes a0, a1, and so on, and writes a pattern.

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field

from ..plan.alignment import Alignment, Axis, Conflict, Count, Input, Output, ShapeMismatch, Term, are_integers
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import check_axis, mismatch
from ..wire.shapes import Integer, limit_names
from .base import Op
from .einops_pattern import (
    ELLIPSIS,
    MERGED_ELLIPSIS,
    Groups,
    expand_side,
    fixed_length,
    is_name,
    parse_pattern,
    split_einsum,
)
from .einsum import LabeledProduct, skipped_zeros
from .equation import MAX_EQUATION_CHARACTERS, OutputEllipsis, ParsedEquation, check_result, invalid_equation
from .framework import Framework

FRAMEWORK = Framework(
    order=140,
    reference=("einops", "0.8.2"),
    link="https://einops.rocks/api/{function}/",
    preamble="import einops\n",
    calls={"einops": "{y} = einops.{function}({xs}, {pattern})"},
    size=None,
    executed="einops 0.8.2",
)
_WRITTEN = 10**6
"""The maximum length of an axis that is written in the pattern, because a pattern must not be too long.

Larger lengths are in axes_lengths.
"""


class repeat(Op, name="einops.repeat"):
    """Rearrange an input's named axes. New names add axes, and parentheses split axes (left) or merge axes (right)."""

    snippets: ClassVar[tuple[str, ...]] = ("{y} = einops.repeat({x}, {pattern}{axes_lengths})",)
    verb: ClassVar[str] = "repeat"
    """The function's name in messages."""
    example_attributes = {"pattern": "h w -> (h 2) w c", "axes_lengths": {"c": 3}}
    example_shapes: ClassVar[tuple[Shape, ...]] = ((2, 3),)
    pattern: str = Field(
        max_length=1000,
        description="The pattern, left -> right, with spaces between names and no other white space.",
        examples=["h w -> h w c"],
    )
    axes_lengths: Annotated[dict[str, Integer], BeforeValidator(limit_names)] = Field(
        default={},
        description="The length of each new name. Lengths of other names are checked. By default, no lengths are "
        "given.",
        examples=[{"c": 3}],
    )

    def __hash__(self) -> int:
        return hash((self.pattern, *sorted(self.axes_lengths.items())))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Create an axis for every name on the right.

        Parentheses split the input's axes and merge the output's axes.
        """
        (shape,) = shapes
        self._check_names()
        for name, length in self.axes_lengths.items():
            if length < 0:
                raise ShapeMismatch("invalid-dimension", "negative-length", "axes_lengths", name, length)
        left, right = self._expanded(shape)
        sizes: dict[str, int] = {}
        requirements: list[Axis] = []  # conditions on symbolic sizes, not output axes
        for axis, group in enumerate(left):
            lengths, demands = self._split(group, axis, shape)
            sizes |= lengths
            requirements += demands
        placed = tuple(name for group in left for name in group)
        names = [name for group in right for name in group]
        new = {name: self.axes_lengths.get(name, 0) for name in names}
        new |= {name: fixed for name in names if (fixed := fixed_length(name)) is not None}
        axes = tuple(
            Axis(Relation.EQUAL, (Term(0, placed.index(name), sizes[name]),))
            if name in sizes
            else Axis(Relation.EQUAL, (Term(None, None, new[name]),))
            for name in names
        )
        merges = tuple(len(group) for group in right)
        output = Output(
            0,
            tuple(names.index(name) for name in placed),
            range(len(axes)),
            split_shape=tuple(sizes[name] for name in placed),
            merges=None if set(merges) <= {1} else merges,
        )
        return Alignment(shapes, None, (*axes, *requirements), (output,))

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        """Return the op that names the input's axes a0, a1, and so on, and writes 1 for an axis that expands."""
        output = plan.outputs[0]
        groups = _grouped(output.input_shape, plan.input_shapes[output.input])
        if groups is None:
            return None
        lengths: dict[str, int] = {}
        left = []
        for group in groups:
            kept = [axis for axis in group if output.input_shape[axis] == output.output_shape[output.output_axes[axis]]]
            left.append(_group_text([f"a{axis}" for axis in kept]))
            # einops infers one length per group by dividing the size by the other lengths in the group.
            # No other length may be 0, so an axis of size 0 is placed first, and its length is inferred.
            given = sorted(kept, key=lambda axis: output.input_shape[axis] != 0)[1:]
            lengths |= {f"a{axis}": output.input_shape[axis] for axis in sorted(given)}
        names = {axis: f"a{own}" for own, axis in enumerate(output.output_axes) if axis not in output.broadcast_axes}
        right = []
        merges = (1,) * len(output.output_shape) if output.merges is None else output.merges
        for end, count in zip(accumulate(merges), merges, strict=True):
            for axis in range(end - count, end):
                size = output.output_shape[axis]
                if axis not in names and (1 if count == 1 else 2) <= size < _WRITTEN:
                    names[axis] = str(size)
                elif axis not in names:
                    names[axis] = f"n{axis}"
                    lengths[names[axis]] = size
            right.append(_group_text([names[axis] for axis in range(end - count, end)]))
        return cls(pattern=f"{' '.join(left)} -> {' '.join(right)}".strip(), axes_lengths=lengths)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if conflict.code == "invalid-dimension":
            return (
                "einops 0.8 does not check negative lengths. PyTorch may accept this length, because it reads -1 as "
                "size 1 and does not check a negative size if another size is 0. NumPy refuses it."
            )
        return None

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        try:
            left, right = self.sides()
        except ShapeMismatch:  # an invalid pattern creates no axes
            return super().highest_rank(shapes)
        unnamed = max(len(shapes[0]) - len(left) + 1, 0) if (ELLIPSIS,) in left else 0
        return max(super().highest_rank(shapes), *(unnamed + sum(map(len, side)) for side in (left, right)))

    def sides(self) -> tuple[Groups, Groups]:
        """Return the left side and the right side of the pattern.

        If a new axis has a fixed length, its name is this length, with a suffix that makes the name unique. Raises
        ShapeMismatch if einops does not accept the pattern.
        """
        return parse_pattern(self.pattern)

    def _check_names(self) -> None:
        """Raise ShapeMismatch if einops refuses the names in the pattern or in axes_lengths, whatever the shape is."""
        left, right = self.sides()
        own = {name for group in left for name in group}
        wanted = {ELLIPSIS if name == MERGED_ELLIPSIS else name for group in right for name in group}
        for name in sorted(own - wanted):
            raise invalid_equation("left-only-name", name, self.verb)
        new = [name for name in wanted - own if fixed_length(name) is None]
        for name in sorted(set(new) - set(self.axes_lengths)):
            if name == ELLIPSIS:
                raise invalid_equation("right-only-ellipsis")
            raise invalid_equation("missing-length", name)
        for name in sorted(name for name in self.axes_lengths if not is_name(name) or name not in own | wanted):
            raise invalid_equation("unknown-name", name)

    def _expanded(self, shape: Shape) -> tuple[Groups, Groups]:
        """Return both sides of the pattern, with a name for each axis that `...` stands for."""
        left, right = self.sides()
        named = len(left) - ((ELLIPSIS,) in left)
        rest = len(shape) - named
        if rest < 0 or (rest > 0 and (ELLIPSIS,) not in left):
            counted = Count(named, None if (ELLIPSIS,) in left else named)
            raise ShapeMismatch("rank-mismatch", "left-rank", Input(0, shape), self.pattern, counted)
        unnamed = tuple(f"...{number}" for number in range(rest))
        return expand_side(left, unnamed), expand_side(right, unnamed)

    def _split(self, group: tuple[str, ...], axis: int, shape: Shape) -> tuple[dict[str, int], list[Axis]]:
        """Return the length of each name in the group of an input axis, and the conditions on a symbolic size."""
        size = shape[axis]
        lengths = {name: self.axes_lengths[name] for name in group if name in self.axes_lengths}
        product, rest = prod(lengths.values()), [name for name in group if name not in lengths]
        if len(rest) > 1:
            raise invalid_equation("missing-lengths", " ".join(group))
        if len(group) == len(rest) == 1:
            return {rest[0]: size}, []
        splits = ("split", " ".join(group), product) if product else ("split by 0", " ".join(group))
        requirement = splits if rest else ("product", *lengths.items())
        relation = Relation.DIVISIBLE if rest else Relation.EQUAL
        demand = Axis(relation, (Term(0, axis, size), Term(None, None, product)), requirement)
        alone = Alignment((shape,), None, (demand,), ())
        if rest and product == 0:
            raise mismatch(alone, 0, demand, demand.terms)
        if are_integers(size):
            check_axis(alone, 0, demand)
        if rest:
            lengths[rest[0]] = size // product
        elif len(group) == 1:
            lengths[group[0]] = size
        return lengths, [] if are_integers(size) else [demand]


class rearrange(repeat, name="einops.rearrange"):
    """Move, split and merge an input's named axes. Only axes of size 1 are added or removed."""

    verb = "rearrange"
    refused_deviation: ClassVar[Any] = Op.refused_deviation  # einops adds no axis, so no negative length is used
    replicates = False
    snippets = ()
    example_attributes = {"pattern": "b (h p) w -> (b h) w p", "axes_lengths": {"p": 2}}
    example_shapes = ((2, 6, 4),)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        return None

    def _check_names(self) -> None:
        left, right = self.sides()
        own = {ELLIPSIS, MERGED_ELLIPSIS}.union(*left)
        for name in (name for group in right for name in group):
            if name not in own and fixed_length(name) != 1:
                raise invalid_equation("right-only-name", name)
        super()._check_names()


class einsum(LabeledProduct, name="einops.einsum"):
    """Combine axes that have the same name. Size 1 expands, and axes whose name is not in the output are summed.

    The rule is for NumPy arrays, for which einops does not sum the axes of an ellipsis.
    """

    max_inputs = 63
    max_rank = 52
    output_ellipsis = OutputEllipsis.FOR_AXES
    example_shapes = ((5, 2, 3), (5, 3, 4))
    label_word = "label"
    text_word = "pattern"

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        return skipped_zeros(self, shapes)

    pattern: str = Field(
        max_length=MAX_EQUATION_CHARACTERS,
        description="The names of each input's axes, separated by commas, and after -> the names of the result.",
        examples=["b i j, b j k -> b i k"],
    )

    @property
    def text(self) -> str:
        return self.pattern

    def split(self) -> ParsedEquation:
        return split_einsum(self.pattern)

    def parsed(self) -> ParsedEquation:
        equation = self.split()
        check_result(self.pattern, equation, word=self.label_word, what=self.text_word)
        return equation

    def with_labels(self, equation: ParsedEquation) -> Self:
        left = ", ".join(map(" ".join, equation.operands))
        return self.model_copy(update={"pattern": f"{left} -> {' '.join(equation.result)}".strip()})


def _group_text(names: list[str]) -> str:
    """Return one axis of a pattern as a string."""
    return " ".join(names or ["1"]) if len(names) < 2 else f"({' '.join(names)})"


def _grouped(factors: Shape, shape: Shape) -> list[range] | None:
    """Return, for each axis in `shape`, the consecutive `factors` whose product is its size.

    Return None if no such factors exist.
    """
    if factors == shape:
        return [range(axis, axis + 1) for axis in range(len(shape))]
    # For each axis, each possible end of the axis's factors is a key.
    # The value is the start of the factors that have this end.
    ways: list[dict[int, int]] = [{0: 0}]
    for size in shape:
        reached: dict[int, int] = {}
        for start in ways[-1]:
            for end in range(start, len(factors) + 1):
                if prod(factors[start:end]) == size:
                    reached.setdefault(end, start)
        ways.append(reached)
    groups, end = [], len(factors)
    for way in reversed(ways[1:]):
        if end not in way:
            return None
        groups.append(range(way[end], end))
        end = way[end]
    return groups[::-1] if end == 0 else None


MESSAGES = """
    einops.repeat | Error while processing repeat-reduction pattern "<pattern>".<shape>
    einops.rearrange | Error while processing rearrange-reduction pattern "<pattern>".<shape>
""".replace("<shape>", "<...>Input tensor shape: <0>. Additional info: <%axes_lengths>.")
