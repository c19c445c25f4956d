"""The type checks of the options of a client and of its methods."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import httpx

from ..messages.arguments import python_type_name


def require_url(url: Any) -> None:
    """Raises TypeError if the URL is not a string."""
    if not isinstance(url, str | httpx.URL):
        raise TypeError(
            f"url must be the address of a service, such as http://127.0.0.1:8000, not {python_type_name(url)}"
        )


def require_timeout(timeout: Any) -> None:
    """Raises TypeError if the timeout is neither a number nor None."""
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, Real)):
        raise TypeError(f"timeout must be a number of seconds or None, not {_type_and_value(timeout)}")


def require_retries(retries: Any) -> None:
    """Raises TypeError if the number of retries is not an integer."""
    if isinstance(retries, bool) or not hasattr(retries, "__index__"):
        raise TypeError(f"retries must be an integer such as 2, not {_type_and_value(retries)}")


def require_headers(headers: Any) -> None:
    """Raises TypeError if the headers are not a map of strings. The message omits values, which may be secret."""
    expected = 'headers must be a map of strings such as {"X-Team": "blue"}, not'
    if headers is None:
        return
    if not isinstance(headers, Mapping):
        raise TypeError(f"{expected} {python_type_name(headers)}")
    for text in (*headers.keys(), *headers.values()):
        if not isinstance(text, str | bytes):
            raise TypeError(f"{expected} a map that contains {python_type_name(text)}")


def require_api_key(api_key: Any) -> None:
    """Raises TypeError if the API key is not a string. The message omits the key."""
    if api_key is not None and not isinstance(api_key, str):
        raise TypeError(f"api_key must be a string, not {python_type_name(api_key)}")


def require_callback(progress: Any) -> None:
    """Raises TypeError if the progress callback can't be called."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function that takes a Transfer, not {_type_and_value(progress)}")


def _type_and_value(value: Any) -> str:
    """Return a value and its type in words, such as "the str 'fast'"."""
    return "None" if value is None else f"the {type(value).__name__} {value!r:.60}"
