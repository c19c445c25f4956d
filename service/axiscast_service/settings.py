"""Settings: what an operator would sensibly change, each a flag of `axiscast serve` and an environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from axiscast.wire.wording import close_matches

PREFIX = "AXISCAST_"
CLIENTS_KEY = "AXISCAST_API_KEY"
"""What the command line's other commands read."""


def _setting(default: Any, help: str, least: int = 0, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"help": help, "least": least, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """Every default is safe on a small machine that only its owner reaches."""

    host: str = _setting("127.0.0.1", "Address to listen on; loopback unless it is said otherwise.")
    port: int = _setting(8000, "Port to listen on; 0 picks a free one.")
    workers: int = _setting(1, "Worker processes.", 1)
    max_body_bytes: int = _setting(64 * 2**20, "Bytes of a request body; it is held in memory.", 1)
    memory_budget_bytes: int = _setting(
        128 * 2**20,
        "Bytes of memory that requests may make a worker take, beside some 70 MB of its own.",
        2**20,
    )
    max_output_bytes: int = _setting(16 * 2**30, "Bytes of a dense answer; it is streamed, never held.", 1)
    max_concurrent_requests: int = _setting(64, "Requests in work at once, for each worker.", 1)
    api_keys_file: str = _setting("", "File of API keys, a line name:key for each caller; without it anyone may ask.")
    allowed_hosts: str = _setting(
        "",
        "Names under which it answers (Host), separated by commas, or * for any; without it those of loopback where it "
        "listens there and asks for no key, else any.",
    )
    tls_certificate: str = _setting(
        "", "PEM file of the certificate and those that vouch for it; with it, HTTPS alone."
    )
    tls_key: str = _setting("", "PEM file of the certificate's key, where the first file does not hold it.")
    docs: bool = _setting(True, "Whether GET /docs, /ops and /openapi.json answer.")
    metrics: bool = _setting(True, "Whether GET /metrics answers, where the extra [metrics] is installed.")
    access_log: bool = _setting(False, "Whether each request is a line in the log; probes only where they fail.")
    log_format: str = _setting("text", "How the log is written, to stderr: text or json.", choices=("text", "json"))
    request_seconds: int = _setting(
        30, "Seconds in which a request must arrive, and in each of which a long body, or a reader, must get on.", 1
    )
    drain_seconds: int = _setting(2, "Seconds from SIGTERM, not ready but answering, until no request is accepted.")
    finish_seconds: int = _setting(10, "Seconds after that in which running answers may finish.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings of AXISCAST_HOST, AXISCAST_PORT, ...; raises ValueError naming the variable."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = variable_of(setting.name)
            text = environment.get(variable, "").strip()
            if text:
                values[setting.name] = _parse(variable, text, type(setting.default), setting.metadata)
        return cls(**values)


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """A sentence for each variable that looks like a setting's and is none, with the one that may be meant."""
    names = [setting.name.upper() for setting in fields(Settings)]
    sentences = []
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name != variable and variable != CLIENTS_KEY and name not in names:
            close = close_matches(name, names, 1)
            which = f"{PREFIX}{close[0]} may be meant" if close else "`axiscast serve --help` lists them"
            sentences.append(f"{variable} is set, and no setting has this name: {which}")
    return sentences


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
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
    if not (text.isascii() and text.isdecimal()) or int(text) < metadata["least"]:
        raise ValueError(f"{variable} must be a whole number of at least {metadata['least']}, not {text!r}")
    if variable == variable_of("port") and int(text) > 65535:
        raise ValueError(f"{variable} must be at most 65535, not {text}")
    return int(text)
