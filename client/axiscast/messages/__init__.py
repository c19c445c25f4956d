"""The models of requests and responses. The models in tensors.py contain tensors and therefore require NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    ValidationError,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from ..ops import OPS, IntegerOpField, Op, OpField, OpMapField, UnionByName, numpy, op_class
from ..wire.dimensions import Dimension, Dimensions, DimensionShape
from ..wire.problems import PROBLEM_KINDS
from ..wire.shapes import ShapeField, StopAtFirstError, limit_names
from ..wire.wording import close_matches, did_you_mean
from .base import AnswerModel, DrawnAnswer, ListOf, RequestModel
from .catalogue import OpEntry
from .conditions import Condition, ExplainedSize

__all__ = [
    "CheckAnswer", "CheckRequest", "Comparison", "ConflictAnswer", "Hint", "OpEntry", "OutputShape", "ResultShape",
    "TranslateAnswer",
]  # fmt: skip

WarningKind = Literal["square", "mutual-stretch", "rank-promotion"]
"""The warnings about shapes that `warn` can request. A response includes `square` even if `warn` does not name it."""

_Warn = Annotated[
    list[WarningKind],
    StopAtFirstError(),
    Field(
        description="Additional warnings: `mutual-stretch`, `rank-promotion`. Correct code often triggers them. "
        "`square` is always included. By default, no warnings are added.",
        examples=[["mutual-stretch", "rank-promotion"]],
    ),
]

_OP_DESCRIPTION = (
    "The op, or only its name if it needs no attribute. An alias of an op, such as torch.mul, is also valid. The "
    "default is numpy.broadcast_arrays."
)
_Assumptions = Annotated[
    Annotated[dict[str, Dimension], BeforeValidator(limit_names)] | None,
    Field(description="The known range or value of a named size.", examples=[{"N": "2.."}]),
]


class CheckRequest(RequestModel):
    """A check request: do the shapes broadcast, and what are the output shapes?"""

    op: OpField = Field(default=numpy.broadcast_arrays(), description=_OP_DESCRIPTION)
    inputs: ListOf[DimensionShape] = Field(
        description='The shape of each input. An unknown size is a name ("N", the same size everywhere), a range '
        '("1..8", "2..") or "?" (or null). An attribute that is a shape takes the same forms.',
        examples=[[[8, 1, 6, 1], [7, 1, 5]]],
    )
    assume: _Assumptions = None
    dtype: str | None = Field(
        default=None, description="If the request has a dtype, each output has `nbytes`.", examples=["float32"]
    )
    explain: StrictBool = Field(
        default=False,
        description="Whether to add `diagram`, a drawing of the aligned axes in plain text. The default is false.",
    )
    warn: _Warn = []


_ELEMENTS_DESCRIPTION = "The product of the sizes: a decimal string if it exceeds 2^63-1, and null if it is unknown."


class OutputShape(AnswerModel):
    """An output: its shape, and the mapping of its input's axes."""

    shape: ListOf[int | str] = Field(
        description="The sizes. An unknown size is a name, a range or ?. The size of a merged axis is a decimal "
        "string if it exceeds 2^63-1."
    )
    input: int = Field(description="The number of the input that this output reads.")
    factors: ListOf[int | str] | None = Field(
        default=None, description="If the op splits or merges axes: the shape that axes and broadcast_axes refer to."
    )
    axes: ListOf[int] = Field(description="`axes[d]` is the output axis that input axis `d` maps to.")
    broadcast_axes: ListOf[int] = Field(description="The output axes along which the input is replicated.")
    maybe_broadcast_axes: ListOf[int] = Field(
        default_factory=list,
        description="The output axes along which the input is replicated for some values of the unknown sizes.",
    )
    elements: int | str | None = Field(description=_ELEMENTS_DESCRIPTION)
    dims: ListOf[str] | None = Field(default=None, description="The names of the dimensions, if the op names them.")
    nbytes: int | str | None = Field(default=None, description="With dtype: the size of the dense output in bytes.")


class ResultShape(AnswerModel):
    """The shape of the operation's result, such as a matrix product, if it differs from the outputs' shapes."""

    shape: ListOf[int | str] = Field(description="The sizes. An unknown size is a name, a range or ?.")
    elements: int | str | None = Field(description=_ELEMENTS_DESCRIPTION)
    nbytes: int | str | None = Field(default=None, description="With dtype: the size of the dense result in bytes.")


def _op_or_none(value: Any, op: Callable[[Any], Op]) -> Op | None:
    """Return the op, or None if this version does not know the op or one of its attributes."""
    try:
        return op(value)
    except ValidationError:
        return None


class Hint(AnswerModel):
    """A corrected request whose shapes broadcast. Send it with the same `assume`.

    answer = client.check(op, *shapes)
    for hint in answer.conflict.hints:
        assert hint.op is None or client.check(hint.op, *hint.inputs).compatible
    """

    text: str = Field(description="The change as text.")
    op: Annotated[OpMapField | None, WrapValidator(_op_or_none)] = Field(
        default=None, description="The corrected op, or null if the hint contains only text."
    )
    inputs: ListOf[DimensionShape] = Field(default=[], description="The corrected shapes.")


class ConflictAnswer(AnswerModel):
    """The reason why shapes do not broadcast. `sizes[i]` is a size in `inputs[i]`. Null means the target attribute."""

    code: str = Field(description="The kind of the conflict.", examples=["size-mismatch"])
    message: str = Field(description="What is wrong, and what is expected.")
    axis: int | None = Field(default=None, description="The lowest output axis with a conflict.")
    axes: ListOf[int | None] = Field(
        default=[],
        description="The axis of each input in `inputs`, if the conflict is not on an output axis. An example is the "
        "summed axis of a matrix product. `axis` is then null.",
    )
    inputs: ListOf[int | None] = Field(
        default=[], description="The numbers of the conflicting inputs. Null stands for the target attribute."
    )
    sizes: ListOf[int | str] = Field(default=[], description="The size of each of `inputs` on the conflicting axis.")
    hints: ListOf[Hint] = Field(default=[], description="Corrected requests, with the most likely request first.")


class Warned(AnswerModel):
    """A warning about a valid request that is probably a mistake, or about a release that differs from its docs."""

    code: str = Field(
        description="`square`: an accidental outer product. Two inputs expand each other to axes of equal size, "
        "and one input lacks one of these axes, such as (5,) and (5, 1). `release-differs`: the release of the "
        "framework differs from its documentation. An op can have further codes. Two codes appear only if `warn` "
        "contains them: `mutual-stretch`, another broadcast in which two inputs expand each other, and "
        "`rank-promotion`, an input that gets new axes and is not a scalar. They are not added to a `square`."
    )
    message: str = Field(description="The cause, and what to do. In code, the inputs are called `a`, `b` and so on.")
    hint: Hint | None = Field(default=None, description="The request that was probably intended, if it is known.")


class CheckAnswer(DrawnAnswer):
    """The response to a check request: `outputs` if the shapes broadcast, otherwise `conflict`."""

    compatible: bool | None = Field(
        description="true: the shapes broadcast for all values of the symbols. false: they broadcast for no values. "
        "null: they broadcast for some values."
    )
    op: Annotated[OpMapField | None, WrapValidator(_op_or_none)] = Field(
        default=None, description="The op whose rule was applied, if the request omitted the op or named an alias."
    )
    outputs: ListOf[OutputShape] = Field(default=[], description="The outputs, if the shapes broadcast.")
    result: ResultShape | None = Field(
        default=None,
        description="The shape of the result, if it differs from `outputs`. For a matrix product, `outputs` are the "
        "broadcast operands.",
    )
    conditions: ListOf[Condition] = Field(
        default_factory=list, description="For symbolic shapes: they broadcast if and only if all conditions are true."
    )
    axis_sizes: ListOf[ExplainedSize] = Field(
        default=[], description="The sizes of the axes on which two symbolic sizes meet, if each of them can be 1."
    )
    hints: ListOf[Hint] = Field(
        default=[],
        description="With `conditions`: changed requests that broadcast for all sizes, because each name meets itself.",
    )
    conflict: ConflictAnswer | None = Field(
        default=None, description="The reason and hints, if shapes do not broadcast."
    )
    warnings: ListOf[Warned] = Field(default=[], description="Probable mistakes, and the warnings in `warn`.")
    diagram: str | None = Field(default=None, description="With `explain`: a drawing of the aligned axes as text.")


class FieldError(AnswerModel):
    """One fault of a request, and its location."""

    detail: str = Field(description="What is wrong, and what is expected.")
    pointer: str | None = Field(default=None, description="A JSON Pointer to the invalid field of the body.")
    parameter: str | None = Field(default=None, description="The name of the invalid query parameter.")


class ProblemDetails(AnswerModel):
    """Problem details as defined by RFC 9457.

    The fields after `pointer` depend on the problem code. Other fields may also be present.
    """

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="The page that explains the code.", examples=["/problems/invalid-request"])
    title: str = Field(description="The meaning of the code.")
    status: int = Field(description="The HTTP status.", examples=[422])
    detail: str = Field(description="What is wrong in this request, and what is expected.")
    code: str = Field(
        description="The kind of the problem, as a code for programs. Newer services may have additional codes.",
        examples=["invalid-request"],
        json_schema_extra={"enum": [*PROBLEM_KINDS]},
    )
    pointer: str | None = Field(default=None, description="A JSON Pointer to the invalid field of the body.")
    parameter: str | None = Field(default=None, description="The name of the invalid query parameter.")
    errors: ListOf[FieldError] = Field(
        default=[], description="All faults of the request. The first fault is also in detail, pointer and parameter."
    )
    conflict: ConflictAnswer | None = Field(default=None, description="For incompatible-shapes: conflict and hints.")
    limit: int | None = Field(default=None, description="The limit that the request exceeds.")
    elements: int | str | None = Field(
        default=None,
        description="The number of elements of an output that is too large. It is a decimal string if it exceeds "
        "2^63-1.",
    )
    nbytes: int | str | None = Field(default=None, description="The size of this output in bytes.")
    supported: list[str] | None = Field(default=None, description="The supported media types.")
    request_id: str | None = Field(
        default=None, description="The id of the request in the log, if the code is `internal`."
    )


@cache
def _frameworks() -> set[str]:
    """Return the prefixes of op names: the frameworks and their modules, such as jax.numpy. This loads all ops."""
    return {name[: dot.start()] for name in OPS for dot in re.finditer(r"\.", name)}


def _op_or_framework(name: str) -> str:
    """Return the name of an op or a framework. An alias is replaced by the op's name."""
    if name in _frameworks():
        return name
    op = op_class(name)
    if op is None:
        matches = close_matches(name, [*_frameworks(), *OPS])
        detail = f"{name[:60]!r} is not an op or a framework{did_you_mean(matches)}"
        raise PydanticCustomError("not_an_op", "{detail}", {"detail": detail})
    return str(op.model_fields["name"].default)


class CompareRequest(RequestModel):
    """A request that compares the results of all frameworks for the same shapes."""

    inputs: ListOf[DimensionShape] = Field(
        description="The shape of each input. Unknown sizes are written as in a check.", examples=[[[1, 3]]]
    )
    shape: Dimensions | None = Field(
        default=None,
        description="The target shape, for a comparison of the ops that take a single input and a target.",
        examples=[[2, -1]],
    )
    assume: _Assumptions = None
    warn: _Warn = []
    ops: Annotated[list[Annotated[str, AfterValidator(_op_or_framework)]], StopAtFirstError()] = Field(
        default=[],
        description="Compare only these ops, aliases or frameworks (such as torch). By default, every op is compared.",
        examples=[["torch", "onnx.Add"]],
    )

    @property
    def shapes(self) -> list[Sequence[Any]]:
        """The shapes of the inputs, followed by the target shape if one is given."""
        return [*self.inputs, *([] if self.shape is None else [self.shape])]


class Comparison(DrawnAnswer):
    """The result for one op: `outputs` if the shapes broadcast, otherwise `conflict`."""

    op: dict[str, Any] = Field(description="The full op.")
    also: list[dict[str, Any]] = Field(default=[], description="The other ops of the framework with the same result.")
    compatible: bool | None = Field(description="The same field as in the response to a check.")
    outputs: ListOf[OutputShape] = Field(default=[], description="The outputs, if the shapes broadcast.")
    result: ResultShape | None = Field(default=None, description="The same field as in the response to a check.")
    conditions: ListOf[Condition] = Field(default=[], description="For symbolic shapes: the conditions.")
    hints: ListOf[Hint] = Field(default=[], description="The same field as in the response to a check.")
    conflict: ConflictAnswer | None = Field(default=None, description="The reason, if the shapes do not broadcast.")
    warnings: ListOf[Warned] = Field(default=[], description="Probable mistakes, and the warnings in `warn`.")


class SkippedOp(AnswerModel):
    """An op that the request names, but that can't be compared."""

    op: dict[str, Any] = Field(description="The name of the op, and its mode if the op has modes.")
    reason: str = Field(description="The reason as text.", examples=["takes 1 input, not 2"])


class CompareAnswer(AnswerModel):
    """The results for all ops and modes that need only inputs and a target.

    Equal results within one framework are combined.
    """

    results: ListOf[Comparison] = Field(description="The results, in the order of the catalogue.")
    left_out: ListOf[str] = Field(
        default=[], description="The ops that were skipped, because they require known sizes and a size is unknown."
    )
    skipped: ListOf[SkippedOp] = Field(
        default=[],
        description="The other ops in `ops` that were skipped. If other ops of the framework are compared, only the "
        "ops that need more attributes are listed.",
    )


class Transpose(AnswerModel):
    """A transposition: axis `i` of the result is axis `permutation[i]` of the tensor."""

    model_config = ConfigDict(frozen=True)

    name: Literal["transpose"] = "transpose"
    permutation: Annotated[tuple[int, ...], StopAtFirstError()] = Field(
        description="The axes in the new order.", examples=[[1, 0]]
    )


class Reshape(AnswerModel):
    """A reshape, which keeps the elements in C order and changes the shape."""

    model_config = ConfigDict(frozen=True)

    name: Literal["reshape"] = "reshape"
    shape: ShapeField = Field(description="The new shape.", examples=[[3, 1]])


class IntegerRequest(RequestModel):
    """The base class of requests whose sizes are all integers."""

    op: IntegerOpField = Field(default=numpy.broadcast_arrays(), description=_OP_DESCRIPTION)


def _targets() -> list[JsonValue]:
    """Return the ops and the frameworks to which a request can be translated."""
    names = [name for name, op in OPS.items() if op.snippets]
    return [
        *names,
        *(prefix for prefix in sorted(_frameworks()) if any(name.startswith(f"{prefix}.") for name in names)),
    ]


class TranslateRequest(IntegerRequest):
    """A request to translate an op to an op in another framework."""

    inputs: ListOf[ShapeField] = Field(description="The shape of each input.", examples=[[[3]]])
    to: str = Field(
        description="The name of the other op, or of a framework, whose op with the fewest steps is then used.",
        examples=["stablehlo.broadcast_in_dim"],
        json_schema_extra=lambda schema: schema.update(enum=_targets()),
    )


class Step(AnswerModel):
    """A step in a translation. The first step takes input tensors. Each step replaces the tensors that it takes."""

    op: Annotated[Op | Transpose | Reshape, UnionByName(others=(Transpose, Reshape))] = Field(
        description="The op, the transposition or the reshape."
    )
    input: int | None = Field(
        default=None,
        description="The number of the tensor that the step takes. If it is omitted, the step takes all tensors.",
    )
    inputs: list[int] | None = Field(
        default=None,
        description="The numbers of the tensors that the step takes, if it takes more than one but not all. The "
        "result replaces the first of them.",
    )


class Code(AnswerModel):
    """Source code in a programming language."""

    language: str = Field(description="The programming language.", examples=["python"])
    text: str = Field(description="The source code.")


class TranslateAnswer(DrawnAnswer):
    """The response to a translation request: steps in another framework that compute the same bytes."""

    exact: bool = Field(description="Whether the other op is sufficient, without a reshape or a transposition.")
    steps: list[Step] = Field(description="The steps, in order.")
    code: Code = Field(description="The steps as source code.")
    warnings: ListOf[Warned] = Field(
        default=[],
        description="`release-differs`: the release of the framework fails in a step, or returns a different result.",
    )
