"""Conversion of the arguments of Python calls to the plain values in requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeVar

from pydantic import BaseModel, ValidationError

from ..ops import Op, op_class, read_op
from ..ops.help import as_call
from ..wire.shapes import MAX_SIZE, format_shape, parse_shape
from ..wire.wording import close_matches, did_you_mean
from . import CheckRequest

if TYPE_CHECKING:  # not imported at run time, because this module imports NumPy
    from ..wire.tensors import Array

ShapeLike = Sequence[SupportsIndex] | SupportsIndex
"""A shape as an argument. As in NumPy, an integer means the shape of an array with one axis."""
SymbolicShapeLike = Sequence[SupportsIndex | str | None] | SupportsIndex
T = TypeVar("T")
OpLike = Op | str | Mapping[str, Any]
"""An op as an argument: an op object, a name, or a map with the name and the attributes."""

# --- requests --------------------------------------------------------------------------------------


def check_request(
    op: OpLike,
    shapes: Sequence[SymbolicShapeLike],
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[str] = (),
    attributes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the plain value of a CheckRequest.

    Raises TypeError if an argument has the wrong type, and ValueError if a size exceeds 63 bits. Raises InvalidRequest
    if the op does not accept an attribute.
    """
    op = resolve_op(op, attributes, ("dtype", "explain", "assume", "warn"))
    question = {"op": plain_op(op), "inputs": map_inputs(shapes, read_dimensions), **_options(assume, warn)}
    if dtype is not None:
        question["dtype"] = _dtype(dtype)
    if not isinstance(explain, bool):
        raise TypeError(f"explain is True or False, not {explain!r:.40}")
    if explain:
        question["explain"] = True
    return question


def compare_request(
    shapes: Sequence[SymbolicShapeLike],
    target: SymbolicShapeLike | None = None,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[str] = (),
) -> dict[str, Any]:
    """Return the plain value of a CompareRequest. Raises the same exceptions as `check_request`."""
    if shapes and (isinstance(shapes[0], Op) or (isinstance(shapes[0], str) and op_class(shapes[0]))):
        raise TypeError("compare takes only shapes and checks every op: omit the op, or use check")
    question = {"inputs": map_inputs(shapes, read_dimensions), **_options(assume, warn)}
    if target is not None:
        question["shape"] = read_dimensions(target)
    return question


def _options(assume: Mapping[str, int | str] | None, warn: Collection[str]) -> dict[str, Any]:
    """Return the fields that check and compare requests share. Empty fields are omitted."""
    fields = {"assume": _assumptions(assume) if assume else None, "warn": _words(warn)}
    return {name: value for name, value in fields.items() if value}


def translate_request(
    op: OpLike, shapes: Sequence[ShapeLike], to: str, attributes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the plain value of a TranslateRequest. Raises the same exceptions as `check_request`."""
    if not isinstance(to, str):
        name = getattr(to, "name", None) or (to.model_fields["name"].default if _is_op_class(to) else "torch.expand")
        raise TypeError(f'to is the name of an op, not {python_type_name(to)}: write to="{name}"')
    op = resolve_op(op, attributes, ("to",))
    return {"op": plain_op(op), "inputs": map_inputs(shapes, read_sizes), "to": to}


def batch_requests(requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the plain value of each request in a batch. Raises TypeError if `requests` is not a list of requests."""
    if isinstance(requests, (str, Mapping, BaseModel)) or not isinstance(requests, Iterable):
        raise TypeError(f"requests is a list of checks, such as [{_REQUEST}], not {python_type_name(requests)}")
    return _read(enumerate(requests), _batch_question, "request {}")


_REQUEST = '{"op": "numpy.add", "inputs": [(3, 1), (4,)]}'


def _batch_question(request: CheckRequest | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(request, CheckRequest):
        return request.model_dump(exclude_unset=True, exclude_none=True) | {"op": plain_op(request.op)}
    if not isinstance(request, Mapping):
        raise TypeError(f"a check is a map such as {_REQUEST}, not {python_type_name(request)}")
    plain = dict(request)
    if "op" in plain:
        op = plain["op"]
        plain["op"] = op if isinstance(op, str) else _plain(op) if isinstance(op, Mapping) else plain_op(resolve_op(op))
    if "inputs" in request:
        if isinstance(request["inputs"], str) or not isinstance(request["inputs"], Iterable):
            raise TypeError(
                f'"inputs" is a list of shapes, such as [(3, 1), (4,)], not {python_type_name(request["inputs"])}'
            )
        plain["inputs"] = map_inputs(request["inputs"], read_dimensions)
    if "warn" in plain:
        plain["warn"] = _words(plain["warn"])
    return plain


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
            raise TypeError(f"check_columns has no keyword {name}: use check_batch, where each request can have it")
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
    """Return whether an attribute varies by row: it is an array of rank 2, or a list of lists of integers."""
    if hasattr(values, "ndim"):
        return bool(values.ndim == 2)
    rows = values if isinstance(values, (list, tuple)) else ()
    return bool(rows) and all(
        isinstance(row, (list, tuple)) and not any(isinstance(size, str) for size in row) for row in rows
    )


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
                f"{_listed_names(attributes)} can't be given beside an op object: write it inside, "
                f"{as_call(type(op), attributes)}, or give the op's name, {op.name!r}"
            )
        return op
    if isinstance(op, str):
        name, values = op, dict(attributes or {})
    elif isinstance(op, Mapping):
        if not isinstance(op.get("name"), str):
            raise TypeError('an op as a map has its name, such as {"name": "numpy.broadcast_to", "shape": (4, 3)}')
        name, values = op["name"], {**op, **(attributes or {})}
        del values["name"]
    else:
        raise TypeError(_no_op(op))
    kind = op_class(name)
    if kind is None:
        return {"name": name} | {key: _plain(value) for key, value in values.items()} if values else name
    if not values:
        return _bare(kind)
    _refuse_misspelt(values, name, options)
    return kind(**values)


@lru_cache(256)
def _bare(kind: type[Op]) -> Op:
    attributes: dict[str, Any] = {}
    return kind(**attributes)


def known_op(op: OpLike, attributes: Mapping[str, Sequence[int]] | None = None) -> Op | None:
    """Return the op with these additional attributes, or None if this version does not know the op."""
    if isinstance(op, Op):
        return op.model_copy(update=dict(attributes)) if attributes else op
    values = {"name": op} if isinstance(op, str) else op
    try:
        return read_op({**values, **(attributes or {})})
    except (KeyError, ValidationError):
        return None


def plain_op(op: OpLike) -> Any:
    """Return an op that `resolve_op` returned as a map of its attributes, or as its name."""
    if not isinstance(op, Op):
        return op
    plain = op.model_dump(exclude_none=True)
    return plain if op.alias is None else plain | {"name": op.alias}


def _refuse_misspelt(attributes: Mapping[str, Any], name: str, options: Sequence[str]) -> None:
    """Raise TypeError if shapes are given as a keyword, or if one of the call's options is misspelt."""
    kind = op_class(name)
    for key in attributes:
        if kind is not None and key in kind.model_fields:
            continue
        if key in ("inputs", "shapes", "arrays", "args"):
            raise TypeError(f"there is no keyword {key}: write the inputs one by one after the op, (3, 1), (4,)")
        if (close := close_matches(key, options, 1, 0.75)) and close[0] != key:
            raise TypeError(f"there is no keyword {key}{did_you_mean(close)}")


def _no_op(value: Any) -> str:
    """Return the error message for a value that is not an op."""
    if _is_op_class(value):
        return (
            f"{value.__name__} is the class of {value.model_fields['name'].default}, not an op: "
            f"write {as_call(value, {})}"
        )
    own = f"{str(getattr(value, '__module__', '')).partition('.')[0]}.{getattr(value, '__name__', '')}"
    return (
        "the first argument is an op, such as axiscast.numpy.broadcast_to(shape=(4, 3)), or the name of one, "
        f'such as "{own if op_class(own) else "numpy.broadcast_arrays"}" (`axiscast ops` lists them); '
        f"not {python_type_name(value)}"
    )


def _is_op_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Op)


def _listed_names(attributes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}=" for name in attributes)[:100]


# --- shapes ----------------------------------------------------------------------------------------


def map_inputs(shapes: Iterable[Any], read: Callable[[Any], T]) -> list[T]:
    """Convert each shape with `read`. If `read` raises an error, raise the error again with the number of the input."""
    return _read(enumerate(shapes), read, "input {}")


def _read(values: Iterable[tuple[Any, Any]], read: Callable[[Any], T], place: str) -> list[T]:
    """Convert each value with `read`.

    If `read` raises an error, raise the error again with the location of the value.
    """
    found = []
    for key, value in values:
        try:
            found.append(read(value))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{place.format(key)}: {error}") from None
    return found


def read_sizes(shape: ShapeLike) -> list[int]:
    """Return the sizes of a shape as integers for a request.

    Raises the same exceptions as NumPy: TypeError for a value that is not an integer (2.0, True, None, "34"), and
    ValueError for a size that exceeds 63 bits.
    """
    return list(map(_size, _listed(shape)))


def read_dimensions(shape: SymbolicShapeLike) -> list[int | str]:
    """Return the sizes of a shape for a request: integers, symbols (unchanged), and "?" instead of None.

    Raises the same exceptions as `read_sizes`.
    """
    if shape is None:
        raise TypeError("a size is an integer, not None")
    return list(map(_dimension, _listed(shape)))


def _words(warn: Collection[str]) -> list[str]:
    """Return the warning codes in `warn` as a list. Raises TypeError if `warn` is not a collection."""
    if isinstance(warn, str) or not isinstance(warn, Collection):
        raise TypeError(
            f'warn is a list of warnings, such as ["mutual-stretch", "rank-promotion"], not {python_type_name(warn)}'
        )
    return list(warn)


def _assumptions(assume: Mapping[str, int | str]) -> dict[str, int | str]:
    if not isinstance(assume, Mapping):
        raise TypeError(f'assume is a map such as {{"N": "2.."}}, not {python_type_name(assume)}')
    named = ((f"{name!r:.60}", size) for name, size in assume.items())
    return dict(zip(assume, _read(named, _dimension, "assume[{}]"), strict=True))


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    from ..wire.dtypes import UnknownDtype, dtype_from_name  # this module imports NumPy

    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)).rpartition(".")[2]
    try:
        dtype_from_name(name)
    except UnknownDtype:
        name = "float32"
    raise TypeError(f'dtype is a name, not {python_type_name(dtype)}: write dtype="{name}"')


def _dimension(size: SupportsIndex | str | None) -> int | str:
    if isinstance(size, str) and not _DIGITS.fullmatch(size):
        return size
    if size is None:  # Keras uses None for an unknown size
        return "?"
    return _size(size)  # type: ignore[arg-type]  # a string of digits, which is refused


_DIGITS = re.compile(r"\s*[-+]?[0-9]+\s*")


def _listed(shape: SymbolicShapeLike) -> list[Any]:
    """Return the sizes of a shape as a list. If the value is not iterable, return a list with only this value."""
    if isinstance(shape, str):
        raise TypeError(f"a shape is a list of sizes such as (2, 3), not a string{_shape_written(shape)}")
    if isinstance(shape, (bytes, bytearray, Mapping, set, frozenset, BaseModel)) or _is_op_class(shape):
        raise TypeError(f"a shape is a list of sizes such as (2, 3), not {python_type_name(shape)}")
    if getattr(shape, "ndim", 1) > 1 or (not isinstance(shape, Iterable) and hasattr(shape, "shape") and shape.shape):
        raise ValueError("a shape is expected, not an array: pass its .shape")
    if getattr(shape, "ndim", 0) == 1 and "float" in str(getattr(shape, "dtype", "")):
        raise TypeError("a shape is expected, not an array: pass its .shape")
    try:
        listed = list(shape)  # type: ignore[arg-type]
    except TypeError:
        return [shape]
    inner: list[Any] = [item for item in listed if isinstance(item, (list, tuple))]
    if inner and len(inner) == len(listed):
        one_by_one = ", ".join(map(format_shape, inner[:4]))
        raise TypeError(f"a shape holds sizes, not shapes: pass them one by one, {one_by_one:.200}")
    return listed


def _shape_written(text: str) -> str:
    """Return the correction for a shape given as a string, or an empty string if the string contains no shape."""
    try:
        return f": write {format_shape(parse_shape(text))}" if text.strip() else ": write () for a scalar"
    except ValueError:
        return ""


def _size(value: SupportsIndex) -> int:
    if type(value).__name__ in ("bool", "bool_"):  # older NumPy releases accept their bool as an integer
        raise TypeError(f"a size is an integer, not {value}")
    try:
        size = index(value)
    except TypeError:
        raise TypeError(f"a size is an integer, not {_shown(value)}") from None
    if not -MAX_SIZE <= size <= MAX_SIZE:
        raise ValueError("a size has at most 63 bits")
    return size


def _shown(value: Any) -> str:
    """Describe a value that is not a size, and name the size that was probably intended."""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < MAX_SIZE
        return f"the float {float(value)}{f': write {value:.0f}' if whole else ''}"
    if isinstance(value, str):
        return f"{value[:40]!r}{f': write {int(value)}' if _DIGITS.fullmatch(value[:40]) else ''}"
    return "None" if value is None else python_type_name(value)


def python_type_name(value: Any) -> str:
    """Return the type of a value for a message, such as "a tuple"."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _plain(value: Any) -> Any:
    """Convert an argument to lists, maps and integers for a request."""
    if isinstance(value, Op):
        return plain_op(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=repr)
    if isinstance(value, (list, tuple, range)):
        return list(map(_plain, value))
    if hasattr(type(value), "tolist") and hasattr(value, "ndim"):  # a NumPy array or scalar
        return value.tolist()
    return value
