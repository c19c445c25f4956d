"""The rule of einsum: letters name the axes, and axes with the same letter are combined.

The file of each framework defines a subclass with the differences in this framework.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, dropwhile, islice
from typing import ClassVar, NamedTuple, Self

from pydantic import Field

from ..plan.alignment import Alignment, Axis, Count, Input, Output, Reason, ShapeMismatch, Term
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..plan.resolution import try_resolve
from ..wire.wording import count_of, quoted
from .base import Op
from .equation import (
    ELLIPSIS,
    MAX_EQUATION_CHARACTERS,
    Dialect,
    Labels,
    OutputEllipsis,
    ParsedEquation,
    invalid_equation,
    parse_equation,
    split_equation,
)

Settle = Callable[[Shape], Shape]
"""A function that returns the sizes that a release compares instead of sizes that meet."""


class LabeledProduct(Op):
    """Operands whose axes have labels. Their product is summed over the labels that are not in the result.

    An operand that is broadcast keeps the order of its axes, and the axes of the ellipsis are those of all operands. An
    operand with a repeated label keeps both axes. No request can be translated to these ops.
    """

    max_inputs: ClassVar[int | None] = None
    broadcasts_all_inputs: ClassVar[bool] = True
    has_common_output_axes: ClassVar[bool] = False
    relation: ClassVar[Relation] = Relation.BROADCAST
    """The relation between the sizes that a label has in different operands."""
    diagonal: ClassVar[Relation] = Relation.EQUAL
    """The relation between the sizes of axes that have the same label in one operand."""
    dialect: ClassVar[Dialect] = Dialect()
    output_ellipsis: ClassVar[OutputEllipsis] = OutputEllipsis.OPTIONAL
    example_shapes: ClassVar[tuple[Shape, ...]] = ((2, 3), (3, 4))
    label_word: ClassVar[str] = "letter"
    """The word that messages use for a label."""
    text_word: ClassVar[str] = "equation"
    """The word that messages use for the equation."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The equation, as written in the request."""

    @abstractmethod
    def split(self) -> ParsedEquation:
        """Return the labels in the equation, without a check of the result. Raises ShapeMismatch for invalid syntax."""

    @abstractmethod
    def parsed(self) -> ParsedEquation:
        """Return the labels in the equation. Raises ShapeMismatch if the framework refuses the equation."""

    @abstractmethod
    def with_labels(self, equation: ParsedEquation) -> Self:
        """Return the op whose equation has these labels."""

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        names = self.axis_labels(shapes)
        axes: dict[str, list[Term]] = {label: [] for label in chain.from_iterable(names.wanted)}
        diagonals: list[Axis] = []
        for number, labels in enumerate(names.own):
            first: dict[str, Term] = {}
            for axis, label in enumerate(labels):
                term = Term(number, axis, shapes[number][axis])
                if label not in first or self.diagonal is self.relation:
                    axes[label].append(term)
                else:
                    diagonals.append(Axis(self.diagonal, (first[label], term), self._requirement(label, self.diagonal)))
                first.setdefault(label, term)
        place = {label: number for number, label in enumerate(axes)}
        outputs = tuple(
            Output(number, _positions(names.own[number], wanted), tuple(place[label] for label in wanted))
            for number, wanted in enumerate(names.wanted)
        )
        combined = (self._axis(label, tuple(terms)) for label, terms in axes.items())
        result = tuple(place[label] for label in names.result)
        named = ["" if label.startswith(ELLIPSIS) else label for label in axes] + [""] * len(diagonals)
        return Alignment(shapes, None, (*combined, *diagonals), outputs, result=result, labels=tuple(named))

    def _axis(self, label: str, terms: tuple[Term, ...]) -> Axis:
        relation = Relation.BROADCAST if label.startswith(ELLIPSIS) else self.relation
        return Axis(relation, terms, self._requirement(label, relation))

    def _requirement(self, label: str, relation: Relation) -> Reason:
        if label.startswith(ELLIPSIS):
            return ("ellipsis",)
        return "label", self.label_word, label, relation

    def axis_labels(self, shapes: tuple[Shape, ...]) -> "AxisLabels":
        """Return the labels of all axes, with a label for each axis that an ellipsis stands for.

        Raises ShapeMismatch if the framework refuses the equation, or the number of axes of an operand.
        """
        equation = self.parsed()
        counts = [_unnamed_count(self, number, equation, shape) for number, shape in enumerate(shapes)]
        most = max(counts)
        if ELLIPSIS not in equation.result and self._needs_output_ellipsis(equation, most):
            raise invalid_equation("summed-ellipsis", self.text_word, self.text)
        if most and equation.result.count(ELLIPSIS) > 1 and not self.dialect.repeats_output:
            raise invalid_equation("output-ellipses", self.text_word, self.text)
        unnamed = tuple(f"{ELLIPSIS}{axis}" for axis in range(most))
        own = [unnamed[most - count :] for count in counts]
        return AxisLabels(
            [*map(_replaced, equation.operands, own)],
            [_replaced(labels, unnamed) for labels in equation.operands],
            _replaced(equation.result, unnamed),
        )

    def _needs_output_ellipsis(self, equation: ParsedEquation, unnamed: int) -> bool:
        if self.output_ellipsis is OutputEllipsis.REQUIRED:
            return any(ELLIPSIS in labels for labels in equation.operands)
        return unnamed > 0 and self.output_ellipsis is OutputEllipsis.FOR_AXES

    def fits_with(
        self, shapes: tuple[Shape, ...], settle: Settle | None = None, settle_all: Settle | None = None
    ) -> bool:
        """Return whether shapes fit if `settle` replaces the sizes that a label has in one operand.

        `settle_all` then replaces the sizes that a label has in all operands, in their order.
        """
        try:
            own = self.axis_labels(shapes).own
        except ShapeMismatch:
            return False
        places = [(label, number) for number, labels in enumerate(own) for label in labels]
        sizes = [*chain.from_iterable(shapes)]
        if settle is not None:
            sizes = _settled(sizes, places, settle)
        if settle_all is not None:
            sizes = _settled(sizes, [(label, 0) for label, _ in places], settle_all)
        flat = iter(sizes)
        return try_resolve(self.align(tuple(tuple(islice(flat, len(shape))) for shape in shapes))) is not None

    def sizes_by_label(self, shapes: tuple[Shape, ...]) -> Iterator[tuple[set[int], bool]]:
        """Yield the sizes on each axis of shapes that fit, and whether the axis is summed."""
        alignment = self.align(shapes)
        for number in {axis for output in alignment.outputs for axis in output.axes}:
            yield {term.size for term in alignment.axes[number].terms}, number not in (alignment.result or ())

    def input_count_problem(self, count: int) -> str | None:
        try:
            operands = len(self.parsed().operands)
        except ShapeMismatch:  # the equation is invalid, and `align` raises the same error
            return super().input_count_problem(count)
        if count != operands:
            has = f"the {self.text_word} {quoted(self.text)} has {count_of(operands, 'operand')}"
            return f"{has}, but the request has {count_of(count, 'input')}"
        return super().input_count_problem(count)

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        """Return the number of labels, because the product has an axis for each label before the sum."""
        rank = super().highest_rank(shapes)
        try:
            equation = self.parsed()
        except ShapeMismatch:  # an invalid equation creates no axes
            return rank
        labels = {*chain.from_iterable(equation.operands)} - {ELLIPSIS}
        unnamed = self._longest_ellipsis(equation, shapes)
        named = [label for label in equation.result if label != ELLIPSIS]
        ellipses = max(len(equation.result) - len(named), 1)
        return max(rank, len(labels) + unnamed, len(named) + unnamed * ellipses)

    def _longest_ellipsis(self, equation: ParsedEquation, shapes: Sequence[Sequence[object]]) -> int:
        pairs = zip(equation.operands, shapes, strict=False)
        return max((len(shape) - len(labels) + 1 for labels, shape in pairs if ELLIPSIS in labels), default=0)


class Einsum(LabeledProduct):
    """Multiply operands whose axes are named by letters, and sum over the letters that are not in the result."""

    equation: str = Field(
        max_length=MAX_EQUATION_CHARACTERS,
        description="The letters of each operand's axes, then -> and the letters of the result's axes. ... stands "
        "for other axes.",
        examples=["ij,jk->ik"],
    )

    @property
    def text(self) -> str:
        return self.equation

    def split(self) -> ParsedEquation:
        return split_equation(self.equation, self.dialect)

    def parsed(self) -> ParsedEquation:
        return parse_equation(self.equation, self.dialect)

    def with_labels(self, equation: ParsedEquation) -> Self:
        left = ",".join(map("".join, equation.operands))
        return self.model_copy(update={"equation": f"{left}->{''.join(equation.result)}"})


class AxisLabels(NamedTuple):
    """The labels of the axes in an einsum."""

    own: list[Labels]
    """For each operand, the labels of the operand's own axes."""
    wanted: list[Labels]
    """For each operand, the labels of the axes that the operand has after the broadcast."""
    result: Labels


def _unnamed_count(op: LabeledProduct, number: int, equation: ParsedEquation, shape: Shape) -> int:
    """Return how many axes the ellipsis of an operand stands for. Raises ShapeMismatch if the number is negative."""
    labels = equation.operands[number]
    named = len(labels) - (ELLIPSIS in labels)
    count = len(shape) - named
    if count == 0 or (count > 0 and ELLIPSIS in labels):
        return count
    term = op.text.partition("->")[0].split(",")[number].strip()
    counted = Count(named, None if ELLIPSIS in labels else named)
    raise ShapeMismatch("rank-mismatch", "term-rank", Input(number, shape), term, op.text_word, op.text, counted)


def _settled(sizes: list[int], places: list[tuple[str, int]], settle: Settle) -> list[int]:
    """Return sizes in which `settle` has replaced those with the same place. The axes of an ellipsis keep theirs."""
    meeting: dict[tuple[str, int], Shape] = {}
    for place, size in zip(places, sizes, strict=True):
        meeting[place] = (*meeting.get(place, ()), size)
    settled = {place: iter(met if place[0].startswith(ELLIPSIS) else settle(met)) for place, met in meeting.items()}
    return [next(settled[place]) for place in places]


def without_leading_zeros(sizes: Shape) -> Shape:
    """Return sizes in which the first size other than 0 replaces the sizes of 0 before it."""
    rest = tuple(dropwhile(lambda size: size == 0, sizes))
    return rest[:1] * (len(sizes) - len(rest)) + rest if rest else sizes


def skipped_zeros(op: LabeledProduct, shapes: tuple[Shape, ...], settle: Settle = without_leading_zeros) -> str | None:
    """Return a warning if NumPy returns a view of a diagonal, although the sizes on this diagonal differ."""
    if len(shapes) > 1 or not op.fits_with(shapes, settle):
        return None
    labels = op.axis_labels(shapes)
    is_view = set(labels.own[0]) <= set(labels.result)
    return "NumPy 2.4 does not compare a size 0 on a diagonal with the sizes after it." if is_view else None


def _replaced(labels: Labels, unnamed: Labels) -> Labels:
    """Return the labels, with the labels `unnamed` instead of the ellipsis."""
    return tuple(chain.from_iterable(unnamed if label == ELLIPSIS else (label,) for label in labels))


def _positions(own: Labels, wanted: Labels) -> tuple[int, ...]:
    """Return, for each axis of an operand, the position of this axis after the broadcast."""
    remaining = iter(enumerate(wanted))
    return tuple([next(position for position, candidate in remaining if candidate == label) for label in own])
