"""The models of requests and responses. The models in tensors.py contain tensors and therefore require NumPy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Generic, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, WrapSerializer
from pydantic_core import PydanticCustomError

from ..ops import FRAMEWORKS, OPS, IntegerOpField, Op, OpField, UnionByName, numpy, op_class
from ..wire.dimensions import Dimensions, DimensionShape
from ..wire.problems import PROBLEM_KINDS
from ..wire.shapes import StopAtFirstError
from ..wire.wording import close_matches, did_you_mean
from .base import AnswerModel, DrawnAnswer, ListOf, RequestModel
from .catalogue import OpEntry
from .check_answer import BroadcastInput, CheckAnswer, OutputShape, S, Verdict
from .check_request import OP_DESCRIPTION, Assumptions, CheckRequest, Warn
from .facts import ConflictAnswer, Hint, Warned

__all__ = [
    "BroadcastInput", "CheckAnswer", "CheckRequest", "Comparison", "ConflictAnswer", "Hint", "OpEntry", "OutputShape",
    "TranslateAnswer",
]  # fmt: skip


class FieldError(AnswerModel):
    """One fault of a request, and its location."""

    detail: str = Field(description="What is wrong, and what is expected.")
    pointer: str | None = Field(default=None, description="A JSON Pointer to the invalid field of the request.")
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
    pointer: str | None = Field(default=None, description="A JSON Pointer to the invalid field of the request.")
    parameter: str | None = Field(default=None, description="The name of the invalid query parameter.")
    errors: ListOf[FieldError] = Field(
        default_factory=list,
        description="All faults of the request. The first fault is also in detail, pointer and parameter.",
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
    assume: Assumptions = None
    warn: Warn = Field(default_factory=list)
    ops: Annotated[list[Annotated[str, AfterValidator(_op_or_framework)]], StopAtFirstError()] = Field(
        default_factory=list,
        description="Compare only these ops, aliases or frameworks (such as torch). By default, every op is compared.",
        examples=[["torch", "onnx.Add"]],
    )

    @property
    def shapes(self) -> list[Sequence[Any]]:
        """The shapes of the inputs, followed by the target shape if one is given."""
        return [*self.inputs, *([] if self.shape is None else [self.shape])]


class Comparison(Verdict[S], Generic[S]):
    """The result for one op of a comparison."""

    op: dict[str, Any] = Field(description="The full op.")
    also: list[dict[str, Any]] = Field(
        default_factory=list,
        description="The other ops of the framework with the same shapes. Some may return another number of arrays.",
    )


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
        default_factory=list,
        description="The ops that were skipped, because they require known sizes and a size is unknown.",
    )
    skipped: ListOf[SkippedOp] = Field(
        default_factory=list,
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
    shape: DimensionShape = Field(description="The new shape.", examples=[[3, 1]])


class IntegerRequest(RequestModel):
    """The base class of requests whose sizes are all integers."""

    op: IntegerOpField = Field(default=numpy.broadcast_arrays(), description=f"{OP_DESCRIPTION}numpy.broadcast_arrays.")


def _targets() -> list[JsonValue]:
    """Return the ops and the frameworks to which a request can be translated."""
    names = [
        name
        for name, op in OPS.items()
        if op.snippets or (op.computes() and name.rpartition(".")[0] in FRAMEWORKS[name.partition(".")[0]].calls)
    ]
    return [
        *names,
        *(prefix for prefix in sorted(_frameworks()) if any(name.startswith(f"{prefix}.") for name in names)),
    ]


class TranslateRequest(RequestModel):
    """A request to translate an op to an op in another framework."""

    op: OpField = Field(default=numpy.broadcast_arrays(), description=f"{OP_DESCRIPTION}numpy.broadcast_arrays.")
    inputs: ListOf[DimensionShape] = Field(
        description="The shape of each input. The code reads a size that is a name, such as N, from its tensor.",
        examples=[[[3]]],
    )
    to: str = Field(
        description="The name of the other op, or of a framework, whose op with the fewest steps is then used.",
        examples=["stablehlo.broadcast_in_dim"],
        json_schema_extra=lambda schema: schema.update(enum=_targets()),
    )


class Step(AnswerModel):
    """A step in a translation. The first step takes input tensors. Each step replaces the tensors that it takes."""

    op: Annotated[
        Op | Transpose | Reshape,
        UnionByName(others=(Transpose, Reshape)),
        WrapSerializer(
            lambda op, plain: plain(op) | ({"name": alias} if (alias := getattr(op, "alias", None)) else {})
        ),
    ] = Field(description="The op, the transposition or the reshape. An alias, such as torch.mul, keeps its name.")
    input: int | None = Field(
        default=None,
        description="The number of the tensor that the step takes. If it is omitted, the step takes all tensors.",
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
        default_factory=list,
        description="`release-differs`: the release of the framework fails in a step, or returns a different result.",
    )
