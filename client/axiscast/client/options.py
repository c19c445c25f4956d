"""Options of a client and of its calls: each must be of the right kind."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import httpx

from ..messages.arguments import python_type_name


def require_address(url: Any) -> None:
    """Raises TypeError for a URL that is not text."""
    if not isinstance(url, str | httpx.URL):
        raise TypeError(f"url is the service's address, such as http://127.0.0.1:8000, not {python_type_name(url)}")


def require_seconds(timeout: Any) -> None:
    """Raises TypeError for a timeout that is not a number."""
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, Real)):
        raise TypeError(f"timeout is a number of seconds, or None, not {_shown(timeout)}")


def require_count(retries: Any) -> None:
    """Raises TypeError for retries that are not an integer."""
    if isinstance(retries, bool) or not hasattr(retries, "__index__"):
        raise TypeError(f"retries is how often a request is sent again, such as 2, not {_shown(retries)}")


def require_fields(headers: Any) -> None:
    """Raises TypeError for headers that are not a map of strings. A value, which may be a secret, is not shown."""
    says = 'headers is a map of strings, such as {"X-Team": "blue"}, not'
    if headers is None:
        return
    if not isinstance(headers, Mapping):
        raise TypeError(f"{says} {python_type_name(headers)}")
    for text in (*headers.keys(), *headers.values()):
        if not isinstance(text, str | bytes):
            raise TypeError(f"{says} one with {python_type_name(text)}")


def require_key(api_key: Any) -> None:
    """Raises TypeError for an API key that is not a string, and does not show it."""
    if api_key is not None and not isinstance(api_key, str):
        raise TypeError(f"api_key is a string, not {python_type_name(api_key)}")


def require_callback(progress: Any) -> None:
    """Raises TypeError for a progress that cannot be called."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is a function that takes each Transfer, not {_shown(progress)}")


def _shown(value: Any) -> str:
    """A value and its kind, in words."""
    return "None" if value is None else f"the {type(value).__name__} {value!r:.60}"
