"""Under which names the service answers: else a web page whose name is made to point here (DNS rebinding) could ask it
from inside, as if the page had come from it."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address

from starlette.types import Scope

from axiscast.wire.problems import Problem

from ..settings import Settings
from .telemetry import MONITORING_PATHS

ANY_HOST = "*"
_LOOPBACK = "localhost,127.0.0.1,[::1]"
_NAME = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*?)\.?(?::[0-9]*)?")
_SHOWN = 100
"""Characters of a name that a refusal repeats."""


def effective_hosts(settings: Settings) -> str:
    """What AXISCAST_ALLOWED_HOSTS says; where it says nothing, the names of loopback if the service can be reached
    there alone and asks for no key, else any name."""
    if settings.allowed_hosts:
        return settings.allowed_hosts
    if settings.api_keys_file or not is_loopback(settings.host):
        return ANY_HOST
    return f"{_LOOPBACK},{f'[{settings.host}]' if ':' in settings.host else settings.host}"


def parse_hosts(text: str) -> frozenset[str]:
    """The names of a list with commas, in lower case; none where any name will do. Raises ValueError."""
    names = frozenset(name.strip().lower() for name in text.split(",")) - {""}
    if ANY_HOST in names:
        return frozenset()
    for name in sorted(names):
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"AXISCAST_ALLOWED_HOSTS has {name!r}: write names and addresses without a port, with commas "
                "between, an address of IPv6 in brackets, or * for any"
            )
    return names


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def matches_host(names: Collection[str], host: bytes) -> bool:
    """Whether a Host field names one of these, whatever its port. Blanks around it do not count (RFC 9110, 5.5)."""
    matched = _HOST.fullmatch(host.decode("latin-1").strip(" \t").lower())
    return matched is not None and matched[1] in names


def require_allowed_host(names: Collection[str], scope: Scope) -> None:
    """Raises Problem (misdirected-request) for a request under another name than these, whatever its port; probes go
    by addresses, and are let through."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if scope["path"] not in MONITORING_PATHS and not matches_host(names, host):
        raise Problem(
            "misdirected-request",
            f"this service does not answer under the name {host.decode('latin-1')[:_SHOWN]!r}, the request's Host: "
            "ask under a name that is in AXISCAST_ALLOWED_HOSTS, or add this one there (* for any)",
        )
