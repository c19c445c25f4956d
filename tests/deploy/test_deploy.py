"""The image, the locks and compose.yaml agree with each other and with the service."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Served, free_port, run, unhurried
from deployment import (
    COMPOSE,
    CONTAINER,
    DEPLOY,
    DOCKERFILE,
    ENVIRONMENTS,
    POD,
    PROJECT,
    ROOT,
    argument_of,
    healthcheck_command,
    image_environment,
)
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from axiscast_service.runtime.drain import LEAVE_SECONDS
from axiscast_service.settings import PREFIX, Settings, variable_of


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_service_knows_every_setting_that_a_file_makes(environment: Mapping[str, str]) -> None:
    given = {name for name in environment if name.startswith(PREFIX)}
    assert given
    assert given <= {variable_of(name) for name in Settings.__dataclass_fields__}
    Settings.from_environment(environment)  # raises for a value that the service would refuse


# --- the image ---


def test_the_image_runs_as_a_numbered_user_and_stops_on_sigterm() -> None:
    assert argument_of("USER") == "10001:10001"
    assert argument_of("STOPSIGNAL") == "SIGTERM"
    assert json.loads(argument_of("ENTRYPOINT")) == ["axiscast"]
    assert json.loads(argument_of("CMD")) == ["serve"]


def test_the_image_listens_where_it_says() -> None:
    settings = Settings.from_environment(image_environment())
    assert settings.host == "0.0.0.0"
    assert argument_of("EXPOSE") == str(settings.port)


def test_the_base_image_is_a_choice_and_has_a_python_that_the_project_supports() -> None:
    assert DOCKERFILE[0][0] == "ARG"
    name, _, base = DOCKERFILE[0][1].partition("=")
    assert [argument.split()[0] for given, argument in DOCKERFILE if given == "FROM"] == [f"${{{name}}}"] * 2
    version = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+(@sha256:[0-9a-f]{64})?", base)
    assert version
    assert Version(version[1]) in Requirement(f"python{PROJECT['project']['requires-python']}").specifier


def test_what_the_build_copies_is_there_and_is_let_through() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copies = [argument.split()[:-1] for name, argument in DOCKERFILE if name == "COPY" and "--from" not in argument]
    copied = {source for sources in copies for source in sources}
    assert "*" in ignore
    assert copied == allowed
    assert all((ROOT / source).exists() for source in copied)


def test_no_package_index_and_no_certificate_is_named_in_the_dockerfile() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "://" not in text
    assert not re.search(r"--(index-url|extra-index-url|trusted-host|find-links|cert)\b|PIP_(INDEX|CERT|TRUSTED)", text)


# --- the health check ---


def run_healthcheck(**environment: str) -> subprocess.CompletedProcess[str]:
    program, *options, script = healthcheck_command()
    assert (program, script) == ("python", "/opt/axiscast/healthcheck.py")
    command = [sys.executable, *options, str(DEPLOY / "healthcheck.py")]
    return run(command, env=os.environ | environment)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", ""])
def test_the_health_check_finds_the_service(service: Served, host: str) -> None:
    port = service.url.rpartition(":")[2]

    def ask(seconds: float) -> None:
        ran = run_healthcheck(AXISCAST_HOST=host, AXISCAST_PORT=port)
        assert (ran.returncode, ran.stderr) == (0, "")

    unhurried(ask, 2)  # of its own it gives up after 2 s


def test_the_health_check_fails_where_nothing_listens() -> None:
    ran = run_healthcheck(AXISCAST_HOST="127.0.0.1", AXISCAST_PORT=str(free_port()))
    assert ran.returncode == 1
    assert "no answer from 127.0.0.1" in ran.stderr


# --- the locks ---


def locked(path: Path) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a lock, with its hashes."""
    text = re.sub(r"(?m)^\s*#.*\n?", "", path.read_text()).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        requirement, *hashes = line.split("--hash=")
        yield Requirement(requirement.strip()), [value.strip() for value in hashes]


EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = {
    "requirements.txt": PROJECT["project"]["dependencies"] + EXTRAS["service"] + EXTRAS["metrics"] + EXTRAS["otel"],
    "requirements-build.txt": PROJECT["build-system"]["requires"],
    "requirements-sbom.txt": ["cyclonedx-bom"],
    "../docs/requirements.txt": PROJECT["project"]["dependencies"] + EXTRAS["docs"],
}


@pytest.mark.parametrize(("name", "wanted"), LOCKS.items(), ids=LOCKS)
def test_a_lock_has_a_hash_for_everything_that_the_project_wants(name: str, wanted: list[str]) -> None:
    versions = {}
    for requirement, hashes in locked(DEPLOY / name):
        assert hashes, f"{requirement} has no hash"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", value) for value in hashes), requirement
        (pin,) = requirement.specifier
        assert pin.operator == "==", requirement
        versions[canonicalize_name(requirement.name)] = pin.version
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)], prereleases=True)


def test_the_notice_names_every_package_of_the_image() -> None:
    names = {canonicalize_name(requirement.name) for requirement, _ in locked(DEPLOY / "requirements.txt")}
    said = {canonicalize_name(word) for word in re.findall(r"[\w-]+", (ROOT / "NOTICE").read_text())}
    assert {name.partition("-")[0] if name.startswith("opentelemetry") else name for name in names} <= said


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_place(name: str) -> None:
    text = (DEPLOY / name).read_text()
    assert "://" not in text
    assert not re.search(r"--(index-url|extra-index-url|find-links|trusted-host)(?: |=)\S*/", text)
    assert not re.search(r"(?m)(^|\s|=)/\w", text), "an absolute path"


# --- time to stop ---


@pytest.mark.parametrize(
    ("file", "grace"),
    [
        ("kubernetes", POD["spec"]["terminationGracePeriodSeconds"]),
        ("compose.yaml", int(COMPOSE["stop_grace_period"].removesuffix("s"))),
    ],
)
def test_there_is_time_to_drain_and_to_finish(file: str, grace: int) -> None:
    settings = Settings.from_environment(ENVIRONMENTS[file])
    assert settings.drain_seconds + settings.finish_seconds + LEAVE_SECONDS < grace
    assert settings.finish_seconds > Settings.finish_seconds, "as much of the grace period as there is"


def test_the_documented_settings_for_a_grace_period_of_ten_seconds_leave_a_second() -> None:
    section = (ROOT / "docs" / "operations.md").read_text().partition("\n## Grace period\n")[2].partition("\n## ")[0]
    environment = dict(re.findall(r"(?m)^([A-Z_]+)=(\d+)$", section))
    settings = Settings.from_environment(environment)
    seconds = settings.drain_seconds + settings.finish_seconds + LEAVE_SECONDS
    export = int(environment["OTEL_EXPORTER_OTLP_TIMEOUT"])
    assert (f"at most {seconds} seconds, or {seconds + export} seconds if" in section, seconds + export) == (True, 9)
    default = Settings().drain_seconds + Settings().finish_seconds + LEAVE_SECONDS
    assert f"the default settings need {default} seconds" in " ".join(section.split())


def test_a_pod_is_not_ready_before_its_drain_ends() -> None:
    readiness: dict[str, Any] = CONTAINER["readinessProbe"]
    drain = Settings.from_environment(ENVIRONMENTS["kubernetes"]).drain_seconds
    assert readiness["periodSeconds"] * readiness["failureThreshold"] <= drain


# --- Compose ---


def test_the_composed_container_is_confined() -> None:
    assert COMPOSE["user"] == argument_of("USER")
    assert COMPOSE["read_only"] is True
    assert COMPOSE["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in COMPOSE["security_opt"]
    assert COMPOSE["mem_limit"]
    assert COMPOSE["pids_limit"]
    assert not {"privileged", "cap_add", "volumes", "network_mode"} & COMPOSE.keys()


def test_compose_publishes_the_services_port_on_this_machine_only() -> None:
    assert COMPOSE["ports"] == [f"127.0.0.1:8000:{argument_of('EXPOSE')}"]


def test_compose_checks_health_as_the_image_does() -> None:
    assert COMPOSE["healthcheck"]["test"] == ["CMD", *healthcheck_command()]
