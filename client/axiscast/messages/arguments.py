"""Conversion of the arguments of Python calls to the plain values in requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ValidationError

from ..ops import Op, numpy, op_class, op_to_dict, read_op
from ..ops.help import as_call
from ..wire.errors import InvalidRequest, InvalidType
from ..wire.wording import close_matches, did_you_mean
from . import CheckRequest
from .value_arguments import (
    InputShape,
    SymbolicInput,
    SymbolicShapeLike,
    is_input_shape,
    is_op_class,
    map_inputs,
    python_type_name,
    read_assumptions,
    read_dimensions,
    read_dtype,
    read_input_shape,
    read_located,
    read_names,
    shape_in_text,
)

if TYPE_CHECKING:  # for type checkers only, because this module imports NumPy
    from ..wire.tensors import Array

OpLike = Op | str | Mapping[str, Any]
"""The type of an argument that is an op: an op object, a name, or a map with the name and the attributes."""
NUMPY_OP = numpy.broadcast_arrays()
_DEFAULT_OP: Op = CheckRequest.model_fields["op"].default

# --- requests --------------------------------------------------------------------------------------


def check_request(
    op_and_shapes: Sequence[Any],
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[str] = (),
    **attributes: Any,
) -> dict[str, Any]:
    """Return the plain value of a CheckRequest. `op_and_shapes` begins with an op, a request, or the first shape.

    Raises TypeError if an argument has the wrong type, and ValueError if a size exceeds 63 bits. Raises InvalidRequest
    if the op does not accept an attribute.
    """
    first, *shapes = op_and_shapes or (None,)
    if isinstance(first, CheckRequest):
        if any((shapes, dtype, explain, assume, warn, attributes)):
            raise TypeError("a request is complete: pass only the request, check(request)")
        return plain_request(first)
    op: Any = first
    if not op_and_shapes or not names_op(first, shapes):
        _refuse_attributes("check", attributes, ("dtype", "explain", "assume", "warn"))
        op, shapes = _DEFAULT_OP, [*op_and_shapes]
    op = resolve_op(op, attributes, ("dtype", "explain", "assume", "warn"))
    question = {"op": plain_op(op), "inputs": map_inputs(shapes, read_input_shape), **_options(assume, warn)}
    if dtype is not None:
        question["dtype"] = read_dtype(dtype)
    if not isinstance(explain, bool):
        raise TypeError(f"explain must be True or False, not {explain!r:.40}")
    if explain:
        question["explain"] = True
    return question


def names_op(first: Any, others: Sequence[Any]) -> bool:
    """Return whether the first argument of a check is its op, and not its first shape.

    Raises TypeError for a string that contains a shape, with the call to write.
    """
    if not isinstance(first, str):
        return isinstance(first, (Op, Mapping)) or is_op_class(first) or not is_input_shape(first)
    if op_class(first) is None and (shape := shape_in_text(first)) is not None:
        shapes = [shape, *((shape_in_text(text) if isinstance(text, str) else text) for text in others)]
        written = ", ".join(str(shape) for shape in shapes)
        raise TypeError(f"a shape must be a tuple of sizes, not a string: write check({written:.200})")
    return True


def broadcast_op(op_and_arrays: Sequence[Any]) -> tuple[OpLike, Sequence[Any]]:
    """Return the op and the arrays of a broadcast. If the first argument is an array, the op is NumPy's own."""
    first, *arrays = op_and_arrays or (None,)
    if isinstance(first, (Op, str, Mapping)) or (callable(first) and not hasattr(first, "shape")):
        return first, arrays
    return NUMPY_OP, op_and_arrays


def _refuse_attributes(function: str, attributes: Mapping[str, Any], options: Sequence[str]) -> None:
    """Raise TypeError if a call without an op has the attributes of an op."""
    if attributes:
        _refuse_misspelt(attributes, NUMPY_OP.name, options)
        op = "numpy.broadcast_to" if "shape" in attributes else "torch.expand"
        listed = _listed_names(attributes)
        raise TypeError(f'{listed} is for an op: pass the op first, such as {function}("{op}", ..., {listed}...)')


def plain_request(request: CheckRequest) -> dict[str, Any]:
    """Return a check request as plain values."""
    return request.model_dump(exclude_unset=True, exclude_none=True) | {"op": plain_op(request.op)}


def compare_request(
    shapes: Sequence[SymbolicInput],
    target: SymbolicShapeLike | None = None,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[str] = (),
    ops: Collection[str] = (),
) -> dict[str, Any]:
    """Return the plain value of a CompareRequest. Raises the same exceptions as `check_request`."""
    if shapes and (isinstance(shapes[0], Op) or (isinstance(shapes[0], str) and op_class(shapes[0]))):
        raise TypeError("compare takes only shapes and checks every op: omit the op, or use check")
    question = {"inputs": map_inputs(shapes, read_input_shape), **_options(assume, warn)}
    if target is not None:
        question["shape"] = read_dimensions(target)
    if ops:
        question["ops"] = read_names(ops, "ops")
    return question


def _options(assume: Mapping[str, int | str] | None, warn: Collection[str]) -> dict[str, Any]:
    """Return the fields that check and compare requests share. Empty fields are omitted."""
    fields = {"assume": read_assumptions(assume) if assume else None, "warn": read_names(warn, "warn")}
    return {name: value for name, value in fields.items() if value}


def translate_request(
    op: OpLike, shapes: Sequence[InputShape], to: str, attributes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the plain value of a TranslateRequest. Raises the same exceptions as `check_request`."""
    if not isinstance(to, str):
        name = getattr(to, "name", None) or (to.model_fields["name"].default if is_op_class(to) else "torch.expand")
        raise TypeError(f'to must be the name of an op, not {python_type_name(to)}: write to="{name}"')
    op = resolve_op(op, attributes, ("to",))
    return {"op": plain_op(op), "inputs": map_inputs(shapes, read_input_shape), "to": to}


def batch_requests(requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the plain value of each request in a batch. Raises TypeError if `requests` is not a list of requests."""
    if isinstance(requests, (str, Mapping, BaseModel)) or not isinstance(requests, Iterable):
        raise TypeError(f"requests must be a list of checks, such as [{_REQUEST}], not {python_type_name(requests)}")
    return read_located(enumerate(requests), _batch_question, "request {}")


_REQUEST = '{"op": "numpy.add", "inputs": [(3, 1), (4,)]}'


def _batch_question(request: CheckRequest | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(request, CheckRequest):
        return plain_request(request)
    if not isinstance(request, Mapping):
        raise TypeError(f"a check must be a map such as {_REQUEST}, not {python_type_name(request)}")
    plain = {key: plain_value(value) if key == "assume" else value for key, value in request.items()}
    if "op" in plain:
        op = plain["op"]
        if not isinstance(op, str):
            plain["op"] = _plain_map(op) if isinstance(op, Mapping) else plain_op(resolve_op(op))
    if "inputs" in plain:
        inputs = plain["inputs"]
        if isinstance(inputs, str) or not isinstance(inputs, Iterable):
            raise TypeError(
                f'"inputs" must be a list of shapes, such as [(3, 1), (4,)], not {python_type_name(inputs)}'
            )
        plain["inputs"] = map_inputs(inputs, read_input_shape)
    if "warn" in plain:
        plain["warn"] = read_names(plain["warn"], "warn")
    return plain


def _plain_map(op: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of an op in a batch. Raises InvalidType if an attribute has the wrong type.

    Every other error of the op is part of the results, so that it does not affect the other checks.
    """
    try:
        resolve_op(op)
    except InvalidType:
        raise
    except (TypeError, InvalidRequest):
        pass
    return {key: plain_value(value) for key, value in op.items()}


class ColumnsRequest(NamedTuple):
    """A vectorized batch: one op for all rows, and the inputs and attributes that vary by row."""

    op: OpLike
    plain_op: dict[str, Any]
    inputs: list[Array]
    """An int64 array of shape (n, rank) for each input."""
    targets: dict[str, Array]
    """An int64 array of shape (n, rank) for each attribute that varies by row."""


def columns_request(op: OpLike, columns: Sequence[Any], attributes: Mapping[str, Any]) -> ColumnsRequest:
    """Return a vectorized batch.

    Raises the same exceptions as `check_request`, and ValueError if an array is not a column.
    """
    from .tensors import column

    for name in ("warn", "dtype", "explain", "assume"):
        if name in attributes:
            raise TypeError(
                f"check_columns does not accept {name}: use check_batch, where each request can have {name}"
            )
    inputs = map_inputs(columns, column)
    targets = {name: column(values) for name, values in attributes.items() if _is_column(values)}
    fixed = {name: values for name, values in attributes.items() if name not in targets}
    if not targets or (fixed and isinstance(op, Op)):
        whole = resolve_op(op, fixed)
    elif isinstance(op, Op):
        whole = op
    else:
        whole = resolve_op(op, fixed | {name: (0,) * array.shape[1] for name, array in targets.items()})
    plain = plain_op(whole)
    return ColumnsRequest(whole, {"name": plain} if isinstance(plain, str) else plain, inputs, targets)


def _is_column(values: Any) -> bool:
    """Return whether an attribute varies by row, because it is an array of rank 2 or a list of lists of integers."""
    if hasattr(values, "ndim"):
        return bool(values.ndim == 2)
    rows = values if isinstance(values, (list, tuple)) else ()
    has_names = any(isinstance(size, str) for row in rows if isinstance(row, (list, tuple)) for size in row)
    return bool(rows) and not has_names and all(isinstance(row, (list, tuple)) for row in rows)


# --- ops -------------------------------------------------------------------------------------------


def resolve_op(op: OpLike, attributes: Mapping[str, Any] | None = None, options: Sequence[str] = ()) -> OpLike:
    """Return an op with the attributes given in a call. If the op is unknown, return its name or a map.

    `options` are the call's other keywords. Raises TypeError if `op` is not an op, and InvalidRequest if the op does
    not accept an attribute.
    """
    if isinstance(op, Op):
        if attributes:
            _refuse_misspelt(attributes, op.name, options)
            raise TypeError(
                f"{_listed_names(attributes)} can't be combined with an op object: write it inside, "
                f"{as_call(type(op), attributes)}, or pass the op's name, {op.name!r}"
            )
        return op
    if isinstance(op, str):
        name, values = op, dict(attributes or {})
    elif isinstance(op, Mapping):
        if not isinstance(op.get("name"), str):
            raise TypeError(
                'an op that is a map must contain its name, such as {"name": "numpy.broadcast_to", "shape": (4, 3)}'
            )
        name, values = op["name"], {**op, **(attributes or {})}
        del values["name"]
    else:
        raise TypeError(_no_op(op))
    kind = op_class(name)
    if kind is None:
        return {"name": name} | {key: plain_value(value) for key, value in values.items()} if values else name
    _refuse_misspelt(values, name, options)
    return kind(**values)


def known_op(op: OpLike, attributes: Mapping[str, Sequence[int]] | None = None) -> Op | None:
    """Return the op with these attributes added, or None if this version does not know the op."""
    if isinstance(op, Op):
        return op.model_copy(update=dict(attributes)) if attributes else op
    values = {"name": op} if isinstance(op, str) else op
    try:
        return read_op({**values, **(attributes or {})})
    except (KeyError, ValidationError):
        return None


def plain_op(op: OpLike) -> Any:
    """Convert an op that `resolve_op` returned to a map of its attributes, or to its name."""
    return op_to_dict(op, keeps_alias=True) if isinstance(op, Op) else op


def _refuse_misspelt(attributes: Mapping[str, Any], name: str, options: Sequence[str]) -> None:
    """Raise TypeError if shapes are given as a keyword argument, or if an option of the call is misspelt."""
    kind = op_class(name)
    for key in attributes:
        if kind is not None and key in kind.model_fields:
            continue
        if key in ("op", "inputs", "shapes", "arrays", "args"):
            raise TypeError(
                f"{key} is an unknown keyword: pass the op and the inputs as separate arguments, such as "
                '"numpy.add", (3, 1), (4,)'
            )
        if (close := close_matches(key, options, 1, 0.75)) and close[0] != key:
            raise TypeError(f"{key} is an unknown keyword{did_you_mean(close)}")


def _no_op(value: Any) -> str:
    """Return the error message for a value that is not an op."""
    if is_op_class(value):
        name = value.model_fields["name"].default
        return f"{value.__name__} is the class of {name}, not an op: write {as_call(value, {})}"
    own = f"{str(getattr(value, '__module__', '')).partition('.')[0]}.{getattr(value, '__name__', '')}"
    return (
        "the first argument must be an op such as axiscast.numpy.broadcast_to(shape=(4, 3)), or the name of one, "
        f'such as "{own if op_class(own) else "numpy.broadcast_arrays"}" (`axiscast ops` lists them); '
        f"not {python_type_name(value)}"
    )


def _listed_names(attributes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}=" for name in attributes)[:100]


def plain_value(value: Any) -> Any:
    """Convert an argument to lists, maps and integers for a request."""
    if isinstance(value, Op):
        return plain_op(value)
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain_value, value), key=repr)
    if isinstance(value, (list, tuple, range)):
        return list(map(plain_value, value))
    if hasattr(type(value), "tolist") and hasattr(value, "ndim"):  # a NumPy array or scalar
        return value.tolist()
    return value
