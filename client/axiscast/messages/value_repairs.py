"""Valid forms of shapes, tensors, windows and other values that were sent in a common but invalid form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..wire.shapes import MAX_SHAPE_CHARACTERS, parse_shape
from ..wire.wording import MAX_NAME_CHARACTERS

MAX_SHOWN_SIZES = 64
"""The maximum number of sizes in a correction. It equals the maximum rank of a shape."""
_UNKNOWN = ("*", "", "any", "dynamic", "-1", "none", "null")
"""The notations for an unknown size in other programs."""
SHAPE = re.compile(r"[(\[][^()\[\]]*[)\]]")
"""A shape in brackets, in a string that can contain several shapes."""
_SLICE = re.compile(r"\s*([0-9]{1,19})\s*:\s*([0-9]{1,19})\s*")


def is_short(value: Any, depth: int = 2) -> bool:
    """Return whether a value is short enough for a message.

    A string or a number is short if it has few characters. A list or a map is short if it is small and nested at most
    `depth` levels deep.
    """
    if isinstance(value, (list, tuple, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MAX_SHOWN_SIZES and all(is_short(item, depth - 1) for item in items)
    if isinstance(value, str):
        return len(value) <= MAX_SHAPE_CHARACTERS
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)


def size_in(value: Any) -> Any:
    """Return a size that is a string or a float as an integer, a name, a range or "?"."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if not isinstance(value, str):
        return value
    text = value.strip()
    if re.fullmatch(r"[0-9]{1,19}(\.0*)?", text):
        return int(text.partition(".")[0])
    if text.lower() in _UNKNOWN:
        return "?"
    if ".." in text or text == "?":
        return text
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:MAX_NAME_CHARACTERS]


def sizes_in(value: Any) -> list[Any]:
    """Return the shape in a string, a number, a list of sizes or a tensor. Raises ValueError for other maps."""
    if isinstance(value, dict):
        if "shape" not in value:
            raise ValueError(value)
        value = value["shape"]
    if isinstance(value, str):
        return parse_shape(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return [size_in(size) for size in (value if isinstance(value, (list, tuple)) else [value])]


def shapes_in(value: Any) -> list[Any]:
    """Return the shapes in a value: a single shape, a list or a map of shapes, or a string. Raises ValueError."""
    if isinstance(value, str):
        return [parse_shape(text) for text in SHAPE.findall(value) or [value]]
    if not isinstance(value, (list, dict)):
        raise TypeError(value)
    items = [*value.values()] if isinstance(value, dict) else value
    if isinstance(value, dict) and "shape" in value:
        items = [value]
    elif items and all(isinstance(item, list) and item and isinstance(item[0], list) for item in items):
        items = [inner for item in items for inner in item]
    elif items and all(not isinstance(item, (list, dict)) and size_in(item) != "" for item in items):
        is_text = any(isinstance(item, str) for item in items)
        items = items if is_text else [items]
    return list(map(sizes_in, items))


# --- tensors ---------------------------------------------------------------------------------------


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in a tensor, a map of tensors, or a list of nested lists."""
    if isinstance(value, dict):
        value = [value] if "shape" in value else [*value.values()]
    return [_tensor(item) for item in value]


def _tensor(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"dtype": "float32", "shape": _nested_shape(value), "data": value}
    tensor = {("data" if _is_data(name, item, value) else name): item for name, item in value.items()}
    shape = sizes_in(value) if "shape" in value else _nested_shape(tensor.get("data"))
    return tensor | {"shape": shape}


def _is_data(name: str, item: Any, tensor: Mapping[str, Any]) -> bool:
    return isinstance(item, list) and name not in ("shape", "data") and not {"data", "base64"} & tensor.keys()


def _nested_shape(data: Any) -> list[int]:
    """Return the shape of a nested list of numbers, based on its first elements. Raises ValueError for other values."""
    shape: list[int] = []
    while isinstance(data, list) and len(shape) < MAX_SHOWN_SIZES:
        shape.append(len(data))
        data = data[0] if data else 0.0
    if not isinstance(data, (int, float)):
        raise ValueError(data)
    return shape


# --- other fields ----------------------------------------------------------------------------------


def window_in(value: Any) -> list[Any]:
    """Return a window that is a string, a map or one pair as a list of pairs."""
    if isinstance(value, dict):
        return [list(pair) for pair in zip(*value.values(), strict=True)]
    parts = value.split(",") if isinstance(value, str) else value
    return [_bounds(part) for part in ([parts] if isinstance(parts[0], int) else parts)]


def _bounds(value: Any) -> list[Any]:
    if isinstance(value, str):
        found = _SLICE.fullmatch(value)
        return [int(bound) for bound in found.groups()] if found else []
    start, stop, *_ = value.values() if isinstance(value, dict) else value
    return [start or 0, stop]


def assumptions_in(value: Any) -> dict[str, Any]:
    """Return the assumptions in a string or a list of strings."""
    from .attribute_text import parse_assumptions

    if not isinstance(value, (str, list)):
        raise TypeError(value)
    return parse_assumptions(", ".join(value) if isinstance(value, list) else value)
