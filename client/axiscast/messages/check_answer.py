"""The models of the response to a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn

from pydantic import Field, ValidationError, WrapValidator

from ..ops import Op, OpMapField
from .base import AnswerModel, DrawnAnswer, ListOf, TupleOf
from .conditions import Condition, ExplainedSize
from .facts import ConflictAnswer, Hint, IncompatibleShapes, Warned

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    S = TypeVar("S", bound=int | str, default=int, covariant=True)
else:
    from typing import TypeVar

    S = TypeVar("S", bound=int | str)

_SIZES = (
    "The sizes. An unknown size is a name, a range or ?. The size of a merged axis is a decimal string if it exceeds "
    "2^63-1."
)


class OutputShape(AnswerModel, Generic[S]):
    """An array that the framework's function returns, or updates in place."""

    shape: TupleOf[S] = Field(description=_SIZES)
    elements: int | str | None = Field(
        default=None,
        description="The product of the sizes: a decimal string if it exceeds 2^63-1. It is absent if it is unknown.",
    )
    dims: ListOf[str] | None = Field(default=None, description="The names of the dimensions, if the op names them.")
    nbytes: int | str | None = Field(default=None, description="With dtype: the size of the dense array in bytes.")


class BroadcastInput(AnswerModel, Generic[S]):
    """An input as it enters the operation, after broadcasting, and the mapping of its axes."""

    input: int = Field(description="The number of the input.")
    shape: TupleOf[S] = Field(description=_SIZES)
    factors: TupleOf[S] | None = Field(
        default=None, description="If the op splits or merges axes: the shape that axes and broadcast_axes refer to."
    )
    axes: TupleOf[int] = Field(description="`axes[d]` is the axis that input axis `d` becomes.")
    broadcast_axes: TupleOf[int] = Field(description="The axes along which the input is replicated.")
    maybe_broadcast_axes: TupleOf[int] = Field(
        default=(), description="The axes along which the input is replicated for some values of the unknown sizes."
    )


def op_or_none(value: Any, op: Callable[[Any], Op]) -> Op | None:
    """Return the op, or None if this version does not know the op or one of its attributes."""
    try:
        return op(value)
    except ValidationError:
        return None


class Verdict(DrawnAnswer, Generic[S]):
    """Whether shapes broadcast with an op: the shapes if they do, and otherwise the conflict.

    The truth of a verdict is `compatible`. If this depends on unknown sizes, bool() raises ValueError.
    """

    compatible: bool | None = Field(
        description="true: the shapes broadcast for all values of the symbols. false: they broadcast for no values. "
        "null: they broadcast for some values."
    )
    op: Any = Field(default=None, description="The op whose rule was applied.")
    if TYPE_CHECKING:  # reading the attribute raises an exception if there is no shape
        shape: tuple[S, ...] = ()
    else:
        shape: TupleOf[S] | None = Field(
            default=None,
            description="The shape of the first output. It is absent if the shapes do not broadcast, or if the op has "
            "no outputs.",
        )
    outputs: ListOf[OutputShape[S]] = Field(
        default_factory=list, description="What the framework's function returns, or updates in place, in its order."
    )
    broadcast_inputs: ListOf[BroadcastInput[S]] = Field(
        default_factory=list,
        description="Each input after broadcasting. If an op only broadcasts, these are its outputs.",
    )
    conflict: ConflictAnswer | None = Field(
        default=None, description="The reason and hints, if shapes do not broadcast."
    )
    conditions: ListOf[Condition] = Field(
        default_factory=list, description="For symbolic shapes: they broadcast if and only if all conditions are true."
    )
    axis_sizes: ListOf[ExplainedSize] = Field(
        default_factory=list,
        description="The sizes of the axes on which two symbolic sizes meet, if each of them can be 1.",
    )
    hints: ListOf[Hint] = Field(
        default_factory=list,
        description="With `conditions`: changes that broadcast for all sizes, because each name meets itself.",
    )
    warnings: ListOf[Warned] = Field(default_factory=list, description="Probable mistakes, and the warnings in `warn`.")

    def __bool__(self) -> bool:
        if self.compatible is None:
            conditions = " and ".join(f"({condition.message})" for condition in self.conditions)
            raise ValueError(
                f"whether the shapes broadcast depends on unknown sizes: they do if {conditions}. Test "
                "answer.compatible, which is None here"
            )
        return self.compatible


class _FirstShape:
    """The attribute `shape` of a verdict, which raises an exception if there is no shape.

    Only the attribute raises. repr(), ==, copies, pickles and model_dump() use the stored value, which is then None.
    """

    def __get__(self, answer: Verdict[Any] | None, owner: type | None = None) -> Any:
        if answer is None:
            raise AttributeError("shape")  # as pydantic does for a field of a class
        stored = answer.__dict__.get("shape")
        return _raise_without_shape(answer) if stored is None else stored

    def __set__(self, answer: Verdict[Any], value: Any) -> None:
        answer.__dict__["shape"] = value


def _raise_without_shape(answer: Verdict[Any]) -> NoReturn:
    """Raise IncompatibleShapes for a conflict, and ValueError if the op has no outputs."""
    if answer.conflict is None:
        name = getattr(answer.op, "name", None) or (answer.op or {}).get("name", "this op")
        raise ValueError(f"{name} returns no array, so the answer has no shape. Test answer.compatible")
    conflict = answer.conflict.model_dump(mode="json", exclude_unset=True)
    raise IncompatibleShapes({"code": "incompatible-shapes", "detail": answer.conflict.message, "conflict": conflict})


if not TYPE_CHECKING:
    Verdict.shape = _FirstShape()


class CheckAnswer(Verdict[S], Generic[S]):
    """The response to a check request.

    `shape` is the shape of the first output. If the shapes do not broadcast, reading `shape` raises IncompatibleShapes.
    """

    op: Annotated[OpMapField | None, WrapValidator(op_or_none)] = Field(
        default=None, description="The op whose rule was applied."
    )
    diagram: str | None = Field(default=None, description="With `explain`: a drawing of the aligned axes as text.")
