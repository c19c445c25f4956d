"""Type checks for the options of Client and its methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, SupportsIndex

import httpx

from ..messages.value_arguments import python_type_name

_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "url": (lambda x: isinstance(x, str | httpx.URL), "the address of a service, such as http://127.0.0.1:8000"),
    "timeout": (lambda x: x is None or _is_number(x, Real), "a number of seconds or None"),
    "retries": (lambda x: _is_number(x, SupportsIndex), "an integer such as 2"),
    "headers": (lambda x: x is None or not _wrong_types(x), 'a map of strings such as {"X-Team": "blue"}'),
    "api_key": (lambda x: x is None or isinstance(x, str), "a string"),
    "progress": (lambda x: x is None or callable(x), "a function that takes a Transfer"),
}
"""For each client option, a function that checks a value's type, and a phrase that describes the expected type."""


def check_options(**options: Any) -> None:
    """Raise TypeError if an option has the wrong type.

    The message does not contain the values of headers and API keys, because they are secret.
    """
    for name, value in options.items():
        is_valid, expected = _OPTIONS[name]
        if not is_valid(value):
            received = _wrong_types(value) if name == "headers" else python_type_name(value)
            if name not in ("headers", "api_key", "url") and value is not None:
                received = f"the {type(value).__name__} {value!r:.60}"
            raise TypeError(f"{name} must be {expected}, not {received}")


def _is_number(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _wrong_types(headers: Any) -> str:
    """Return the name of the wrong type in a `headers` value, or an empty string if `headers` is a map of strings."""
    if not isinstance(headers, Mapping):
        return python_type_name(headers)
    types = [python_type_name(x) for item in headers.items() for x in item if not isinstance(x, str | bytes)]
    return f"a map that contains {types[0]}" if types else ""
