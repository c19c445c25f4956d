"""The check of Host names. It protects against DNS rebinding, in which a web page's domain resolves to this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address

from axiscast.wire.problems import Problem

from ..settings import Settings
from .telemetry import MONITORING_PATHS

ANY_HOST = "*"
_LOOPBACK = "localhost,127.0.0.1,[::1]"
_NAME = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*?)\.?(?::[0-9]*)?")
_SHOWN = 100
"""The maximum number of characters of a Host name in an error message."""


def effective_hosts(settings: Settings) -> str:
    """Return the setting AXISCAST_ALLOWED_HOSTS, or its default if the setting is empty.

    If the service listens on a loopback address and requires no API key, the default allows only loopback names.
    Otherwise the default allows any name.
    """
    if settings.allowed_hosts:
        return settings.allowed_hosts
    if settings.api_keys_file or not is_loopback(settings.host):
        return ANY_HOST
    return f"{_LOOPBACK},{f'[{settings.host}]' if ':' in settings.host else settings.host}"


def parse_hosts(text: str) -> frozenset[str]:
    """Return the host names in a comma-separated list, in lower case, or an empty set if any name is allowed.

    Raises ValueError if a host name is invalid.
    """
    names = frozenset(name.strip().lower() for name in text.split(",")) - {""}
    if ANY_HOST in names:
        return frozenset()
    for name in sorted(names):
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"AXISCAST_ALLOWED_HOSTS has {name!r}: write names and addresses without a port, separated by commas, "
                "an IPv6 address in brackets, or * for any name"
            )
    return names


def is_loopback(host: str) -> bool:
    """Return whether a host is the name `localhost` or a loopback address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(64)
def _matches_host(names: frozenset[str], host: bytes) -> bool:
    """Return whether a Host header contains one of these names. The port and surrounding spaces are ignored."""
    matched = _HOST.fullmatch(host.decode("latin-1").strip(" \t").lower())
    return matched is not None and matched[1] in names


def require_allowed_host(names: frozenset[str], path: str, fields: Mapping[bytes, bytes]) -> None:
    """Raise Problem (misdirected-request) if the Host header contains none of these names.

    Monitoring paths are exempt, because probes send an IP address as the Host.
    """
    host = fields.get(b"host", b"")
    if not _matches_host(names, host) and path not in MONITORING_PATHS:
        raise Problem(
            "misdirected-request",
            f"the Host {host.decode('latin-1')[:_SHOWN]!r} is not allowed: use a name in AXISCAST_ALLOWED_HOSTS, or "
            f"add this name to it (* allows any name)",
        )
