"""The facts about a client and its request that the log contains: the address, the User-Agent and the request id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import Scope

MAX_USER_AGENT = 200
"""The maximum number of characters of a User-Agent header in the log."""
_VALID_ID = re.compile(rb"[A-Za-z0-9._~+/=:-]{1,128}")


class ClientFacts:
    """A function that returns the log fields of a client.

    Proxies add the address of their client to the end of the X-Forwarded-For header. Anybody can send this header, so
    an address in it counts only if a trusted proxy has added it.
    """

    def __init__(self, with_address: bool, trusted_proxies: str) -> None:
        self._with_address = with_address
        names = [name.strip() for name in trusted_proxies.split(",") if name.strip()]
        try:
            self._trusted = [ip_network(name) for name in names]
        except ValueError as error:
            raise ValueError(f"AXISCAST_TRUSTED_PROXIES must list addresses and networks: {error}") from None
        self._is_trusted = lru_cache(1024)(self._is_in_trusted_network)

    def __call__(self, peer: tuple[str, int] | None, fields: Mapping[bytes, bytes]) -> dict[str, str | None]:
        """Return the log fields of a request. `peer` is the other end of its connection."""
        agent = fields.get(b"user-agent", b"")[:MAX_USER_AGENT].decode("latin-1")
        return {"client": self.address(peer, fields) if self._with_address else None, "user_agent": agent}

    def address(self, peer: tuple[str, int] | None, fields: Mapping[bytes, bytes]) -> str | None:
        """Return the address of a client, or None if its connection has no address."""
        if peer is None or not self._trusted:
            return peer and peer[0]
        return self._forwarded_for(peer[0], fields.get(b"x-forwarded-for", b""))

    def address_of(self, scope: Scope) -> str:
        """Return the address of the client of a request, or an empty string if its connection has no address."""
        fields = joined_fields(scope["headers"]) if self._trusted else {}
        return self.address(scope.get("client"), fields) or ""

    def _forwarded_for(self, address: str, forwarded: bytes) -> str:
        """Return the last address in the chain of proxies that was not added by an untrusted sender."""
        hops = forwarded.decode("latin-1").split(",") if forwarded else []
        while hops and self._is_trusted(address):
            hop = hops.pop().strip()
            if hop.startswith("["):  # some proxies add the port: [2001:db8::1]:5000 or 192.0.2.1:5000
                hop = hop[1:].partition("]")[0]
            elif hop.count(":") == 1:
                hop = hop.partition(":")[0]
            try:
                address = str(ip_address(hop))
            except ValueError:
                break
        return address

    def _is_in_trusted_network(self, address: str) -> bool:
        parsed = ip_address(address.partition("%")[0])
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        return any(parsed in network for network in self._trusted)


def joined_fields(fields: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the headers by name. The values of a repeated header are joined by commas (RFC 9110, 5.2)."""
    joined: dict[bytes, bytes] = {}
    for name, value in fields:
        joined[name] = joined[name] + b"," + value if name in joined else value
    return joined


def request_id_in(field: bytes | None) -> str:
    """Return the value of an X-Request-ID header if the value is valid, otherwise a new request id."""
    return os.urandom(16).hex() if field is None or not _VALID_ID.fullmatch(field) else field.decode()
