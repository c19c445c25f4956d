"""Tests of the workflows: they run what exists, and each job has only the permissions that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from deployment import PROJECT, ROOT

FOLDER = ROOT / ".github/workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}
MAKEFILE = (ROOT / "Makefile").read_text()
WRITING = {
    "attest": {"id-token", "attestations"},
    "publish": {"id-token"},
    "image": {"id-token", "attestations", "packages"},
}
"""The jobs of the release that may write, with their permissions."""


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for workflow, content in WORKFLOWS.items():
        for name, job in content["jobs"].items():
            yield workflow, name, job


def commands(job: dict[str, Any]) -> list[str]:
    """Return the commands of a job. A command with a value of the matrix is repeated for each value."""
    found = []
    for step in job.get("steps", []):
        written = step.get("run", "")
        targets = job.get("strategy", {}).get("matrix", {}).get("target", [""])
        found += [written.replace("$TARGET", target) for target in (targets if "$TARGET" in written else [""])]
    return found


def test_there_is_a_gate_a_nightly_run_and_a_release() -> None:
    assert {*WORKFLOWS} == {"gate", "nightly", "release"}
    assert WORKFLOWS["release"][True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as True


def test_the_gate_runs_one_script_on_each_supported_python() -> None:
    (job,) = WORKFLOWS["gate"]["jobs"].values()
    assert commands(job)[-1] == ".ci/run"
    assert [command for command in commands(job) if command] == [".ci/run"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    supported = [entry.rpartition(" ")[2] for entry in PROJECT["project"]["classifiers"] if "Python :: 3." in entry]
    assert job["strategy"]["matrix"]["python"] == supported


def test_every_target_of_make_exists() -> None:
    targets = {*re.findall(r"^([\w.$()/%-]+):", MAKEFILE.replace("$(VENV)", ".venv"), re.MULTILINE)}
    used = {name for *_, job in jobs() for command in commands(job) for name in re.findall(r"make ([\w./-]+)", command)}
    assert used >= {"release-check", "package", "fuzz", "models", "arrays", "audit", "bench-soak", "bench-stalls"}
    benchmarks = {f"bench-{path.stem}" for path in (ROOT / "benchmarks").rglob("*.py")}
    assert used <= targets | benchmarks


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_job_has_only_the_permissions_that_it_needs(workflow: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {}
    for name, job in WORKFLOWS[workflow]["jobs"].items():
        writing = {scope for scope, access in job["permissions"].items() if access == "write"}
        assert writing == (WRITING.get(name, set()) if workflow == "release" else set()), name
        assert {*job["permissions"].values()} <= {"read", "write"}
        assert "uses" in job or "timeout-minutes" in job, name


def test_a_release_is_built_once_after_the_check_of_the_tag() -> None:
    release = WORKFLOWS["release"]["jobs"]
    assert commands(release["build"])[2] == 'make release-check TAG="$GITHUB_REF_NAME"'
    building = [name for name, job in release.items() if re.search("make (package|wheel|sdist)", str(commands(job)))]
    assert building == ["build"]
    assert release["attest"]["needs"] == release["image"]["needs"] == ["gate", "build"]
    assert release["publish"]["needs"] == "attest"
    for name in ("attest", "publish"):
        assert any("download-artifact" in step.get("uses", "") for step in release[name]["steps"]), name


def test_the_image_of_a_release_has_the_date_of_its_commit_and_an_attested_sbom() -> None:
    job = WORKFLOWS["release"]["jobs"]["image"]
    sbom = "dist-image/axiscast.cdx.json"
    build, push = [line for command in commands(job) for line in command.splitlines() if "$IMAGE:" in line]
    assert build == 'make image ENGINE=podman TAG="$IMAGE:${GITHUB_REF_NAME#v}"'
    assert push == 'podman push --digestfile digest "$IMAGE:${GITHUB_REF_NAME#v}"'
    assert f'ROOT / "{sbom}"' in (ROOT / "deploy/image.py").read_text()
    options = [step["with"] for step in job["steps"] if "with" in step]
    digest = "${{ steps.push.outputs.digest }}"
    attested = [option.get("sbom-path") for option in options if option.get("subject-digest") == digest]
    assert attested == [None, sbom]  # None: the provenance
    assert [option["path"] for option in options if "path" in option] == [sbom]


def test_every_action_has_a_commit_and_its_version() -> None:
    for path in FOLDER.glob("*.yml"):
        for line in re.findall(r"uses: (.*)", path.read_text()):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\$/\S+ # .*", line), line


def test_a_workflow_of_this_repository_exists_and_can_be_called() -> None:
    """`$/` is the repository of the workflow, at the commit that runs."""
    called = [job["uses"] for *_, job in jobs() if "uses" in job]
    assert called == ["$/.github/workflows/gate.yml"]
    for path in called:
        assert "workflow_call" in yaml.safe_load((ROOT / path.removeprefix("$/")).read_text())[True]
