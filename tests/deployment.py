"""The contents of the deployment files: the Dockerfile, compose.yaml and the Kubernetes base."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["axiscast"]
KUBERNETES = DEPLOY / "kubernetes"
MANIFEST = {part["kind"]: part for part in yaml.safe_load_all((KUBERNETES / "base/axiscast.yaml").read_text())}
POD = MANIFEST["Deployment"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments, without comments and line breaks."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    split = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, " ".join(rest.split())) for name, rest in split]


DOCKERFILE = instructions((ROOT / "Dockerfile").read_text())
LAST_STAGE = DOCKERFILE[max(i for i, (name, _) in enumerate(DOCKERFILE) if name == "FROM") :]


def argument_of(name: str) -> str:
    """Return the arguments of the only instruction with this name in the last stage of the Dockerfile."""
    (argument,) = (argument for given, argument in LAST_STAGE if given == name)
    return argument


def image_environment() -> dict[str, str]:
    pairs = [pair for name, argument in LAST_STAGE if name == "ENV" for pair in argument.split()]
    return dict(pair.split("=", 1) for pair in pairs)


def healthcheck_command() -> list[str]:
    command: list[str] = json.loads(argument_of("HEALTHCHECK").partition(" CMD ")[2])
    return command


ENVIRONMENTS: dict[str, Mapping[str, str]] = {
    "Dockerfile": image_environment(),
    "compose.yaml": COMPOSE["environment"],
    "kubernetes": {variable["name"]: variable["value"] for variable in CONTAINER["env"]},
}
