"""Requests and answers, typed: the one schema of both encodings and both sides. Those that hold tensors, which take
NumPy, are in tensors.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from ..ops import OPS, IntegerOpField, Op, OpField, OpMapField, UnionByName, numpy
from ..wire.dimensions import Dimension, Dimensions, DimensionShape
from ..wire.problems import PROBLEM_KINDS
from ..wire.shapes import ShapeField, StopAtFirstError, limit_names
from .base import AnswerModel, ListOf, RequestModel
from .catalogue import OpEntry

__all__ = [
    "CheckAnswer",
    "CheckRequest",
    "Comparison",
    "ConflictAnswer",
    "Hint",
    "OpEntry",
    "OutputShape",
    "ResultShape",
    "TranslateAnswer",
]

WarningKind = Literal["square", "mutual-stretch", "rank-promotion"]
"""The warnings about shapes that `warn` can name; `square` is in every answer that has it."""

_Warn = Annotated[
    list[WarningKind],
    StopAtFirstError(),
    Field(
        description="Warnings to add to those of every answer: `mutual-stretch`, `rank-promotion`; `square` is always "
        "there. Code that is right often has the added ones. None when left out.",
        examples=[["mutual-stretch", "rank-promotion"]],
    ),
]

_Assumptions = Annotated[
    Annotated[dict[str, Dimension], BeforeValidator(limit_names)] | None,
    Field(description="What is known of a name: a range, or a size.", examples=[{"N": "2.."}]),
]


class CheckRequest(RequestModel):
    """Which shapes come out, or why none do."""

    op: OpField = Field(
        default=numpy.broadcast_arrays(),
        description="The op, or its name where it needs no attribute; numpy.broadcast_arrays when left out. An "
        "alias of an op, such as torch.mul, is taken too.",
    )
    inputs: Annotated[list[DimensionShape], StopAtFirstError()] = Field(
        description='The shape of each input. A size that is not known is a name ("N": everywhere the same size), '
        'a range ("1..8", "2..") or "?" (or null); so also in an attribute that is a shape.',
        examples=[[[8, 1, 6, 1], [7, 1, 5]]],
    )
    assume: _Assumptions = None
    dtype: str | None = Field(default=None, description="Adds `nbytes` to each output.", examples=["float32"])
    explain: StrictBool = Field(
        default=False,
        description="Whether `diagram` is added, a drawing of the aligned axes in plain text; false when left out.",
    )
    warn: _Warn = []


class OutputShape(AnswerModel):
    """One output: its shape, and how its input reaches it."""

    shape: ListOf[int | str] = Field(
        description="Sizes; a name, a range or ? where that is all there is to say. A merged axis beyond 2^63-1 is a "
        "decimal string."
    )
    input: int = Field(description="Which input this output reads.")
    factors: ListOf[int | str] | None = Field(
        default=None, description="Where the op splits or merges axes: the shape that axes and broadcast_axes refer to."
    )
    axes: ListOf[int] = Field(description="`axes[d]` is the output axis that input axis `d` feeds.")
    broadcast_axes: ListOf[int] = Field(description="Output axes along which the input is replicated.")
    maybe_broadcast_axes: ListOf[int] = Field(
        default_factory=list, description="Those along which it is for some sizes only."
    )
    elements: int | str | None = Field(
        description="The product of shape; a decimal string beyond 2^63-1, null where it is not known."
    )
    dims: ListOf[str] | None = Field(default=None, description="The names of the dimensions, where the op names them.")
    nbytes: int | str | None = Field(default=None, description="Bytes when dense, where the request has a dtype.")


class ResultShape(AnswerModel):
    """The shape of what an operation computes, if it is not the common shape of its outputs: a matrix product's."""

    shape: ListOf[int | str] = Field(description="Sizes; a name, a range or ? if the sizes are symbolic.")
    elements: int | str | None = Field(
        description="The product of shape; a decimal string beyond 2^63-1, null if it is not known."
    )
    nbytes: int | str | None = Field(default=None, description="Bytes when dense, if the request has a dtype.")


def _op_or_none(value: Any, op: ValidatorFunctionWrapHandler) -> Any:
    """An op; None where this version has no such op, or no such attribute of it: its hint is then advice."""
    try:
        return op(value)
    except ValidationError:
        return None


class Hint(AnswerModel):
    """A request near the one that was asked, which does broadcast, or as it was meant: the same `assume` goes with it.

    answer = client.check(op, *shapes)
    for hint in answer.conflict.hints:
        assert hint.op is None or client.check(hint.op, *hint.inputs).compatible
    """

    text: str = Field(description="What to change, in words.")
    op: Annotated[OpMapField | None, WrapValidator(_op_or_none)] = Field(
        default=None, description="The whole op to ask with; null where the words are advice, and no request."
    )
    inputs: ListOf[DimensionShape] = Field(default=[], description="The shapes to ask with.")


class ConflictAnswer(AnswerModel):
    """Why shapes do not broadcast. `sizes[i]` belongs to `inputs[i]`; null is the target attribute."""

    code: str = Field(description="What kind of conflict it is.", examples=["size-mismatch"])
    message: str = Field(description="What does not fit, and what would have to hold, in words.")
    axis: int | None = Field(default=None, description="The lowest conflicting output axis.")
    axes: ListOf[int | None] = Field(
        default=[],
        description="If the sizes do not meet on an output axis, as those that a matrix product sums over: the axis of "
        "each of `inputs`; `axis` is then null.",
    )
    inputs: ListOf[int | None] = Field(
        default=[], description="The inputs that meet there; null: the target attribute."
    )
    sizes: ListOf[int | str] = Field(default=[], description="The size of each of `inputs` there.")
    hints: ListOf[Hint] = Field(default=[], description="What would fit, the likeliest first.")


class Warned(AnswerModel):
    """What is legal but probably a mistake, or where a release differs from its documentation."""

    code: str = Field(
        description="`square`: an accidental outer product: two inputs expand each other to axes of equal size, and "
        "one input lacks one of these axes, as (5,) and (5, 1) do. `release-differs`: the framework's release differs "
        "from its documentation. A rule can have a code of its own. If `warn` names them: `mutual-stretch`: two inputs "
        "expand each other in another way; `rank-promotion`: an input that is not a scalar gets new axes. Neither is "
        "added to a `square`."
    )
    message: str = Field(
        description="What was seen, and what to do. In code the inputs are called `a`, `b` and so on, in their order."
    )
    hint: Hint | None = Field(default=None, description="What was probably meant, where that is known.")


class DimensionPlace(AnswerModel):
    """Where a size without a name stands: on an axis of an input or of an attribute."""

    input: int | None = Field(default=None, description="Which input, where it is one's.")
    attribute: str | None = Field(default=None, description="Which attribute, where it is one's.")
    axis: int = Field(description="On which of its axes.")


Side = int | str | DimensionPlace
"""A side of an equation: a size, a name, or the place of a size that has neither."""


class Equation(AnswerModel):
    """Two sizes that are equal; or two of which the first divides the second."""

    equal: tuple[Side, Side] | None = Field(default=None, description="The two that are equal.")
    divides: tuple[int, Side] | None = Field(default=None, description="The divisor, and what it divides.")


class Condition(AnswerModel):
    """What must hold: any one of these."""

    any: ListOf[Equation] = Field(description="Of these, one or more hold.")
    text: str = Field(description="The same in words.", examples=["N == M or M == 1"])


class CheckAnswer(AnswerModel):
    """The answer of `check`: `outputs` where the shapes broadcast, `conflict` where they do not."""

    compatible: bool | None = Field(
        description="true: for all sizes that the symbols may have; false: for none; null: for some."
    )
    op: Annotated[OpMapField | None, WrapValidator(_op_or_none)] = Field(
        default=None, description="The op whose rule was applied, if the request left the op out or named an alias."
    )
    outputs: ListOf[OutputShape] = Field(default=[], description="Of shapes that broadcast: what comes out.")
    result: ResultShape | None = Field(
        default=None,
        description="The shape of what the operation computes, if it is not the common shape of `outputs`: of a matrix "
        "product, whose outputs are its operands as they are broadcast.",
    )
    conditions: ListOf[Condition] = Field(
        default_factory=list,
        description="Where shapes are symbolic: the sizes broadcast exactly where all of these hold.",
    )
    conflict: ConflictAnswer | None = Field(default=None, description="Of shapes that do not: why, and what would.")
    warnings: ListOf[Warned] = Field(default=[], description="What is probably a mistake, and what `warn` asks for.")
    diagram: str | None = Field(default=None, description="With `explain`: the aligned axes, drawn in plain text.")


class ProblemDetails(AnswerModel):
    """RFC 9457 problem details. What stands after `pointer` are facts of the code; there may be others."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="Where the code is explained.", examples=["/problems/invalid-request"])
    title: str = Field(description="What the code means, in words.")
    status: int = Field(description="The HTTP status.", examples=[422])
    detail: str = Field(description="What is wrong here, and what would be right, in words.")
    code: str = Field(
        description="What kind of problem it is, for programs; a newer service may have others.",
        examples=["invalid-request"],
        json_schema_extra={"enum": [*PROBLEM_KINDS]},
    )
    pointer: str | None = Field(default=None, description="JSON Pointer to what is wrong.")
    conflict: ConflictAnswer | None = Field(
        default=None, description="Of incompatible-shapes: why, and what would fit."
    )
    limit: int | None = Field(default=None, description="The most that there may be of what there is too much of.")
    elements: int | str | None = Field(
        default=None, description="Of an output that is too large; a decimal string beyond 2^63-1."
    )
    nbytes: int | str | None = Field(default=None, description="The same in bytes.")
    supported: list[str] | None = Field(default=None, description="The media types that are understood, or sent.")
    request_id: str | None = Field(default=None, description="Of internal: what the log has the cause under.")


class CompareRequest(RequestModel):
    """What every framework would answer to these shapes."""

    inputs: Annotated[list[DimensionShape], StopAtFirstError()] = Field(
        description="The shape of each input; sizes that are not known are written as in a check.", examples=[[[1, 3]]]
    )
    shape: Dimensions | None = Field(
        default=None, description="The target: of the ops that take one, with one input.", examples=[[2, -1]]
    )
    assume: _Assumptions = None
    warn: _Warn = []

    @property
    def shapes(self) -> list[Sequence[Any]]:
        """The shapes of the inputs, and the target."""
        return [*self.inputs, *([] if self.shape is None else [self.shape])]


class Comparison(AnswerModel):
    """One op's verdict: `outputs` where the shapes broadcast, `conflict` where they do not."""

    op: dict[str, Any] = Field(description="The full op.")
    also: list[dict[str, Any]] = Field(default=[], description="The other ops of its framework with the same verdict.")
    compatible: bool | None = Field(description="As in a check; so are the other fields.")
    outputs: ListOf[OutputShape] = Field(default=[], description="Of shapes that broadcast: what comes out.")
    result: ResultShape | None = Field(default=None, description="As in a check.")
    conditions: ListOf[Condition] = Field(default=[], description="Of symbolic shapes: what must hold.")
    conflict: ConflictAnswer | None = Field(default=None, description="Of shapes that do not: why.")
    warnings: ListOf[Warned] = Field(default=[], description="What is probably a mistake, and what `warn` asks for.")


class CompareAnswer(AnswerModel):
    """A verdict for each op and mode that can be asked with inputs and a target alone; those of one framework that
    agree are one."""

    results: ListOf[Comparison] = Field(description="The verdicts, in the catalogue's order.")
    left_out: ListOf[str] = Field(
        default=[], description="Ops that are skipped, because they take known sizes only and a size is unknown."
    )


class Transpose(AnswerModel):
    """A step: axis `i` of the result is axis `permutation[i]`."""

    model_config = ConfigDict(frozen=True)

    name: Literal["transpose"] = "transpose"
    permutation: Annotated[tuple[int, ...], StopAtFirstError()] = Field(
        description="The axes in their new order.", examples=[[1, 0]]
    )


class Reshape(AnswerModel):
    """A step: the same elements, in C order, in this shape."""

    model_config = ConfigDict(frozen=True)

    name: Literal["reshape"] = "reshape"
    shape: ShapeField = Field(description="The new shape.", examples=[[3, 1]])


class IntegerRequest(RequestModel):
    """A request of an op whose sizes are all integers."""

    op: IntegerOpField = Field(
        default=numpy.broadcast_arrays(),
        description="The op, or its name where it needs no attribute; numpy.broadcast_arrays when left out. An "
        "alias of an op, such as torch.mul, is taken too.",
    )


class TranslateRequest(IntegerRequest):
    """The same operation in another framework's words."""

    inputs: Annotated[list[ShapeField], StopAtFirstError()] = Field(
        description="The shape of each input.", examples=[[[3]]]
    )
    to: str = Field(
        description="The op to say it with.",
        examples=["stablehlo.broadcast_in_dim"],
        json_schema_extra=lambda schema: schema.update(enum=[name for name, op in OPS.items() if op.snippets]),
    )


class Step(AnswerModel):
    """One step of a translation. Tensors are the inputs at first; each step replaces what it takes by what it gives."""

    op: Annotated[Op | Transpose | Reshape, UnionByName(others=(Transpose, Reshape))] = Field(description="What to do.")
    input: int | None = Field(default=None, description="The tensor that it takes; all of them where there is none.")
    inputs: list[int] | None = Field(
        default=None,
        description="The tensors that it takes, in its order, if they are neither one nor all: the result replaces the "
        "first.",
    )


class Code(AnswerModel):
    """Source text."""

    language: str = Field(description="What it is written in.", examples=["python"])
    text: str = Field(description="The source.")


class TranslateAnswer(AnswerModel):
    """The same operation in another framework's words: the same bytes, step after step."""

    exact: bool = Field(description="Whether the op alone does it, without a reshape or a transposition.")
    steps: list[Step] = Field(description="What to do, in this order.")
    code: Code = Field(description="The steps as source text.")
    warnings: ListOf[Warned] = Field(
        default=[],
        description="`release-differs`: the release of the framework fails, or gives something else, when it runs a "
        "step.",
    )
