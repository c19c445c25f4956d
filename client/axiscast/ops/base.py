"""Op, the base class of all broadcasting operations. It defines the properties that other packages use.

No file in ops/ uses `from __future__ import annotations`. With this import, pydantic would compile Op's annotations
again for each subclass, which takes a tenth of the time of a first check.
"""

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..plan.alignment import Alignment, Conflict
from ..plan.plan import Plan, Shape
from ..wire.dimensions import Symbol
from ..wire.errors import InvalidRequest, InvalidType
from ..wire.problems import Problem
from ..wire.validation_errors import error_message, is_type_error, merge_renamed_fields
from .help import documentation, missing, required_examples, signature


class OpMeta(type(BaseModel)):  # type: ignore[misc]  # pydantic does not export its metaclass
    """The metaclass of ops.

    The metaclass makes help() show an op's rule, attributes and an example instead of pydantic's methods.
    """

    def __dir__(cls) -> list[str]:
        return [*cls.model_fields, "example", "link"]

    @property
    def __doc__(cls) -> str | None:  # type: ignore[override]  # typeshed has a plain attribute
        docstring: str = cls.summary()
        if not cls.has_name():
            return docstring
        return documentation(cls, docstring, sys.modules[cls.__module__].__doc__ or "")

    __signature__ = property(signature, lambda cls, own: None)  # pydantic derives a signature from __init__


if TYPE_CHECKING:
    from pydantic import BaseModel as _Model
else:

    class _Model(BaseModel, metaclass=OpMeta):
        """The pydantic base class of ops."""

        model_config = ConfigDict(defer_build=True)
        name: str


class Op(_Model):
    """One broadcasting operation in one framework, with its attributes.

    An op is frozen and hashable. The names of its class and attributes are the names that the framework uses. An
    invalid attribute raises InvalidRequest, which is a ValueError. An attribute of the wrong type raises InvalidType,
    which is a TypeError too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    min_inputs: ClassVar[int] = 1
    max_inputs: ClassVar[int | None] = 1
    """The maximum number of inputs, or None if any number is accepted."""
    outputs: ClassVar[str] = "1"
    """The number of arrays that the function returns, or updates in place: "none", "1", "2", "as many as inputs"."""
    broadcasts_all_inputs: ClassVar[bool] = False
    """Whether a plan has a placement for each input. If not, the function returns the placements themselves."""
    has_common_output_axes: ClassVar[bool] = True
    """Whether all outputs have the same axes.

    This is False for matrix products. A comparison lists a matrix product only if the shapes fit. No warning is given
    about the inputs of a matrix product.
    """
    replicates: ClassVar[bool] = True
    """Whether the op can replicate elements. This is False if the op only adds axes of size 1."""
    selects_shape_axes: ClassVar[bool] = False
    """Whether attributes can select individual axes of an input that is used only for its shape."""
    transposes: ClassVar[tuple[str, ...]] = ()
    """The attributes that transpose input 0 and input 1, if the op has such attributes."""
    target: ClassVar[str | None] = None
    """The name of the attribute that holds the target shape, or None if the op has no such attribute."""
    named_axes: ClassVar[Mapping[str, int | None]] = {}
    """The attributes that name axes, each with the index of the input to which the axes belong.

    The index is None if the attribute has an entry for each axis of every input. A hint must not move these axes.
    """
    max_rank: ClassVar[int | None] = None
    """The maximum rank that the framework accepts, or None if the framework has no limit.

    An op without a `max_rank` or a `link` has those of its FRAMEWORK.
    """
    alias: ClassVar[str | None] = None
    """The alias that a request used for the op, or None if the request used no alias."""
    link: ClassVar[str]
    """The URL of the framework's documentation for the op."""
    snippets: ClassVar[tuple[str, ...]] = ()
    """Templates that show the op as source code. translation/snippets.py lists the fields of a template.

    A translation uses the first template for which all fields have a value. If an op has no template, no request can be
    translated to the op. Functions that compute with their inputs are called with a template in `Framework.calls`.
    """
    plan_fields: ClassVar[Mapping[str, str] | None] = None
    """For each attribute of the op for a plan, the field of the first Placement. None if no op follows from a plan."""
    example_attributes: ClassVar[Mapping[str, Any]] = {}
    """The attributes of the op in an example. A required attribute has the first of its field's examples."""
    example_shapes: ClassVar[tuple[Shape, ...]]
    """The input shapes of an example request. These shapes broadcast."""

    if TYPE_CHECKING:  # type checkers derive the parameters from the attributes
        name: str = ""
        """The name of the op in requests, which the class statement sets.

        The part before the first dot is the name of the framework's file.
        """
    else:

        def __init__(self, /, *values: Any, **attributes: Any) -> None:
            names = [name for name in type(self).model_fields if name != "name"]
            if values:
                takes = f"its attributes by name: {', '.join(names)}" if names else "no attributes"
                raise TypeError(f"{type(self).model_fields['name'].default} takes {takes}")
            try:
                super().__init__(**attributes)
            except ValidationError as error:
                raise _refusal(type(self), names, error) from None

        __init__.__pydantic_base_init__ = True  # tells pydantic to validate without calling this __init__

        def __setattr__(self, attribute: str, value: Any) -> None:
            raise AttributeError(f"an op can't be changed: create a new {self.name}")

    def __init_subclass__(cls, *, name: str = "") -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, name: str = "", **_: Any) -> None:
        """Define an op if the class statement has a `name`. A class without a name is a base class or an alias."""
        if not name:
            return
        only: Any = Literal[name]
        cls.model_fields["name"] = FieldInfo.from_annotated_attribute(only, name)
        framework = vars(sys.modules[cls.__module__])["FRAMEWORK"]
        if "link" not in vars(cls):
            cls.link = framework.link.format(name=name, function=name.rpartition(".")[2])
        if cls.max_rank is None:
            cls.max_rank = framework.max_rank
        _list_ops(cls.__module__)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        document = handler(schema)
        handler.resolve_ref_schema(document)["description"] = cls.summary()
        return document

    @classmethod
    def has_name(cls) -> bool:
        """Return whether this class is an op, not a base class."""
        return not cls.model_fields["name"].is_required()

    @classmethod
    def summary(cls) -> str:
        """Return the docstring of this class, or of its nearest base class that has a docstring."""
        return cleandoc(next(kind.__dict__["__doc__"] for kind in cls.__mro__ if kind.__dict__.get("__doc__")))

    # --- what every op must define

    @abstractmethod
    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Return the alignment of the input shapes by the op's rule: the sizes that are combined on each axis.

        The caller ensures that the op accepts the number of shapes. Raises ShapeMismatch if the framework refuses the
        request for a reason other than the sizes, such as the ranks.
        """

    # --- what an op can define

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        """Return the only op of this class that can lower to `plan`, or None if no such op exists.

        The plan has at least one output, and the op accepts its number of inputs. `ops.from_plan` verifies that the
        returned op lowers to the plan.
        """
        if cls.plan_fields is None:
            return None
        return cls.model_validate({name: getattr(plan.outputs[0], field) for name, field in cls.plan_fields.items()})

    def limited_rank(self, shapes: tuple[Shape, ...]) -> int:
        """Return the rank of a request that must not exceed `max_rank`."""
        return self.highest_rank(shapes)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        """Return a sentence that describes how the tested release differs for shapes that the rule accepts, or None."""
        return None

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        """Return a sentence that describes how the tested release differs for shapes that the rule refuses, or None.

        `conflict` is the reason why the rule refuses the shapes.
        """
        return None

    def compares_sizes(self) -> bool:
        """Return whether `align` compares integers to choose the axis that a conflict names.

        The relations still decide whether the sizes fit. Requests with columns are refused.
        """
        return False

    def needs_integers(self) -> bool:
        """Return whether `align` accepts only integers, because no relation in plan/relations.py describes the rule.

        If so, requests with columns or symbolic sizes are refused. tests/ops/test_known_sizes.py fails if an op needs
        integers but returns False.
        """
        return False

    def output_dims(self) -> list[list[str]] | None:
        """Return the dimension names for each output, or None if the framework does not name dimensions."""
        return None

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        """Return the highest rank in a request, among all inputs, the target attribute and the outputs."""
        rank = max(map(len, shapes), default=0)
        if self.target is None or (target := getattr(self, self.target)) is None:
            return rank
        return max(rank, len(target))

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        """Return an example: an op, and input shapes that broadcast under this op."""
        return cls.model_validate({**required_examples(cls), **cls.example_attributes}), cls.example_shapes

    @classmethod
    def takes(cls, count: int) -> bool:
        """Return whether the op accepts this number of inputs."""
        return count >= cls.min_inputs and (cls.max_inputs is None or count <= cls.max_inputs)

    def input_count_problem(self, count: int) -> str | None:
        """Return a sentence that explains why the op refuses this number of inputs, or None if the op accepts it."""
        if self.takes(count):
            return None
        return f"{self.alias or self.name} takes {self.input_counts()}, not {count}"

    @classmethod
    def input_counts(cls) -> str:
        """Return the accepted numbers of inputs as text, such as "at least 2 inputs"."""
        low, high = cls.min_inputs, cls.max_inputs
        wanted = f"at least {low}" if high is None else f"{low}" if low == high else f"{low} to {high}"
        return f"{wanted} input{'' if wanted.endswith(' 1') or wanted == '1' else 's'}"

    # --- what follows from the definitions

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        """Return a sentence that describes how the tested release differs from the rule for this request, or None."""
        return self.accepted_deviation(shapes) if conflict is None else self.refused_deviation(shapes, conflict)

    @classmethod
    def has_deviations(cls) -> bool:
        """Return whether `known_deviation` returns a sentence for some requests."""
        own = cls.accepted_deviation, cls.refused_deviation
        return own != (Op.accepted_deviation, Op.refused_deviation)

    def names_axis(self, number: int, moved: Sequence[int], rank: int) -> bool:
        """Return whether an attribute names one of the `moved` axes of input `number`, which has `rank` axes."""
        for attribute, named in self.named_axes.items():
            value = getattr(self, attribute)
            if not value and value != 0:
                continue
            if named is None:
                return bool(moved)
            axes = value if isinstance(value, tuple) else (value,)
            if named == number and any((axis + rank if axis < 0 else axis) in moved for axis in axes):
                return True
        return False

    def symbols(self) -> Iterator[tuple[str, int, Symbol]]:
        """Yield every symbolic size in the attributes as a tuple (attribute, axis, symbol)."""
        for attribute, value in self.__dict__.items():
            if type(value) is tuple:
                yield from ((attribute, axis, size) for axis, size in enumerate(value) if type(size) is Symbol)

    @classmethod
    def function_name(cls) -> str:
        """Return the name of the function that a request names: the alias, such as torch.mul, or the op's name."""
        return cls.alias or str(cls.model_fields["name"].default)

    @classmethod
    def computes(cls) -> bool:
        """Return whether the function computes one tensor with all its inputs, instead of returning what they become.

        julia.broadcast has one output, but its snippets return the broadcast inputs.
        """
        returns_inputs = bool(cls.snippets) and cls.alias is None
        return (
            cls.broadcasts_all_inputs
            and cls.outputs == "1"
            and not returns_inputs
            and "shape" not in cls.function_name()
        )

    @classmethod
    def output_count(cls, inputs: int) -> int:
        """Return the number of arrays that the function returns for this number of inputs."""
        return {"none": 0, "1": 1, "2": 2}.get(cls.outputs, inputs)

    @classmethod
    def broadcast_input_count(cls, inputs: int) -> int:
        """Return the number of placements in the plan for this number of inputs."""
        return inputs if cls.broadcasts_all_inputs else cls.output_count(inputs)

    def output_shapes(self, plan: Any) -> list[Any]:
        """Return the shapes of the arrays that the function returns, in its order, from its Plan or SymbolicPlan."""
        if plan.result is not None:
            return [plan.result]
        # An elementwise operation returns fewer arrays than it broadcasts, and all of them have the common shape.
        return [placement.shape for placement in plan.outputs[: self.output_count(len(plan.input_shapes))]]


def op_to_dict(op: Op, keeps_alias: bool = False) -> dict[str, Any]:
    """Return an op as plain values: its name, and the attributes that are set.

    If `keeps_alias` is true, the name is the alias that the request used, if any.
    """
    fields = op.model_dump(mode="json", exclude_none=True)
    return fields | {"name": op.alias} if keeps_alias and op.alias else fields


OpType = TypeVar("OpType", bound=Op)


def declare(family: type[OpType], name: str, *snippets: str, python_name: str = "", **members: Any) -> type[OpType]:
    """Return the class of an op that differs from its family only in its name, its snippets and a few members.

    The class is assigned to the last part of `name`, or to `python_name`.

        add = declare(Elementwise, "numpy.add")
    """
    framework, _, function = name.partition(".")
    own = {"__module__": f"{__package__}.{framework}", **members}
    if snippets:
        own["snippets"] = snippets
    title = python_name or function.rpartition(".")[2]
    return cast("type[OpType]", new_class(title, (family,), {"name": name}, lambda space: space.update(own)))


def _list_ops(module: str) -> None:
    """Limit dir() of a framework's module to its op classes. For unknown names, suggest these classes."""
    names = vars(sys.modules[module])
    if "__dir__" in names:
        return

    def ops() -> dict[str, str]:
        kinds = [value for value in names.values() if isinstance(value, OpMeta) and value.__module__ == module]
        return {kind.model_fields["name"].default: kind.__name__ for kind in kinds if kind.has_name()}

    def __getattr__(name: str) -> Any:
        rules = {alias: rule for alias, (rule, *_) in names.get("ALIASES", {}).items()}
        raise missing(module, name, ops(), rules)

    names |= {"__getattr__": __getattr__, "__dir__": lambda: sorted(ops().values())}


def _refusal(kind: type[Op], names: list[str], error: ValidationError) -> InvalidRequest:
    """Return the error for an op with invalid attributes.

    The message names the first invalid attribute and the expected value.
    """
    fault = merge_renamed_fields(error.errors(include_url=False))[0]
    place = [str(step) for step in (*fault["loc"], fault.get("ctx", {}).get("field")) if step is not None]
    field = kind.model_fields.get(place[0]) if place else None
    example = f"{place[0]}={field.examples[0]}" if field is not None and field.examples else None
    message = error_message(fault, (place or [""])[-1], names, example)
    steps = [kind.alias or kind.model_fields["name"].default, "/".join(place)[:200], message]
    raised = InvalidType if is_type_error(fault) else InvalidRequest
    return raised(Problem("invalid-request", ": ".join(filter(None, steps))[:1000]).document())
