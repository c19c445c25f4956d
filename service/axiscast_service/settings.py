"""The settings of the service. Each setting is an option of `axiscast serve` and an environment variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from axiscast.wire.wording import close_matches

PREFIX = "AXISCAST_"
_SIZE = re.compile(r"(\d{1,19}) ?(?:([KMGT])iB?)?", re.ASCII | re.IGNORECASE)
_UNITS = ("", "KiB", "MiB", "GiB", "TiB")
NO_PROMETHEUS = "the package prometheus-client is missing: pip install prometheus-client"
"""The reason why a service without the metrics extra has no metrics."""


def _setting(default: Any, help: str, least: int = 0, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"help": help, "least": least, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """All settings of the service. The defaults are safe on a small machine that only its owner can reach."""

    host: str = _setting("127.0.0.1", "Address on which the service listens.")
    port: int = _setting(8000, "Port on which the service listens. 0 selects a free port.")
    workers: int = _setting(1, "Number of worker processes.", 1)
    max_body_bytes: int = _setting(64 * 2**20, "Largest request body. Request bodies are kept in memory.", 1)
    memory_budget_bytes: int = _setting(
        128 * 2**20,
        "Memory for the requests of each worker. docs/operations.md lists the memory limits that fit.",
        2**20,
    )
    max_output_bytes: int = _setting(16 * 2**30, "Largest dense output. Outputs are streamed, not kept in memory.", 1)
    max_concurrent_requests: int = _setting(64, "Maximum number of requests in flight per worker.", 1)
    api_keys_file: str = _setting(
        "", "Path of a file with API keys, one name:key per line. If it is empty, no key is required."
    )
    allowed_hosts: str = _setting(
        "",
        "Allowed Host names, separated by commas, or * for any name. Protects against DNS rebinding. By default, only "
        "loopback names are allowed if the service listens on loopback and requires no key, otherwise any name.",
    )
    tls_certificate: str = _setting(
        "", "PEM file with the TLS certificate and its chain. If it is set, the service accepts only HTTPS."
    )
    tls_key: str = _setting(
        "", "PEM file with the certificate's private key, if the certificate file does not contain the key."
    )
    docs: bool = _setting(True, "Whether to serve GET /docs, /ops and /openapi.json.")
    metrics: bool = _setting(True, "Whether to serve GET /metrics. Needs the metrics extra.")
    access_log: bool = _setting(False, "Whether to log each request. Probes are logged only if they fail.")
    log_client_address: bool = _setting(True, "Whether log lines about requests contain the client's address.")
    trusted_proxies: str = _setting(
        "", "Addresses and networks of your proxies, separated by commas. Only their X-Forwarded-For headers are used."
    )
    log_format: str = _setting("text", "Format of the log on stderr, either text or json.", choices=("text", "json"))
    request_seconds: int = _setting(
        30, "Seconds in which a request must arrive, and in which long uploads and slow readers must make progress.", 1
    )
    drain_seconds: int = _setting(
        2, "Seconds after SIGTERM in which the service still accepts requests, but reports that it is not ready."
    )
    finish_seconds: int = _setting(10, "Seconds after the drain in which requests in flight may finish.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Return the settings from the variables AXISCAST_HOST and so on. Raises ValueError if a value is invalid."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = variable_of(setting.name)
            text = environment.get(variable, "").strip()
            if text:
                values[setting.name] = _parse(variable, text, type(setting.default), setting.metadata)
        return cls(**values)


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a message for each AXISCAST_ variable that is not a setting. It suggests the most similar setting."""
    names = [setting.name.upper() for setting in fields(Settings)]
    messages = []
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name != variable and name not in names:
            close = close_matches(name, names, 1)
            advice = f"did you mean {PREFIX}{close[0]}?" if close else "`axiscast serve --help` lists all settings"
            messages.append(f"{variable} is not a setting: {advice}")
    return messages


def is_size(name: str) -> bool:
    """Return whether the value of a setting is a number of bytes, which a user may write with a unit, such as 64MiB."""
    return name.endswith("_bytes")


def size_text(nbytes: int) -> str:
    """Return a number of bytes with the largest unit in which it is a whole number: 64MiB."""
    power = max(power for power in range(len(_UNITS)) if nbytes % 1024**power == 0) if nbytes else 0
    return f"{nbytes // 1024**power}{_UNITS[power]}"


def variable_of(name: str) -> str:
    """Return the name of the environment variable for a setting."""
    return PREFIX + name.upper()


def _parse(variable: str, text: str, kind: type, metadata: Mapping[str, Any]) -> Any:
    if kind is str:
        choices = metadata["choices"]
        if choices and text not in choices:
            raise ValueError(f"{variable} must be {' or '.join(choices)}, not {text!r}")
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{variable} must be true or false, not {text!r}")
        return text.lower() == "true"
    if is_size(variable.lower()):
        written = _SIZE.fullmatch(text)
        number = int(written[1]) * 1024 ** " KMGT".index((written[2] or " ").upper()) if written else -1
        least = f"size of at least {size_text(metadata['least'])}, such as 1048576 or 256MiB"
    else:
        number = int(text) if text.isascii() and text.isdecimal() else -1
        least = f"whole number of at least {metadata['least']}"
    if number < metadata["least"]:
        raise ValueError(f"{variable} must be a {least}, not {text!r}")
    if variable == variable_of("port") and number > 65535:
        raise ValueError(f"{variable} must be at most 65535, not {text}")
    return number
