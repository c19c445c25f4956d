"""The table in docs/operations.md agrees with the settings of the service."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from cases import cases
from conftest import run

from axiscast_service.runtime.budget import MemoryBudget
from axiscast_service.runtime.memory_limit import memory_limit, memory_warning
from axiscast_service.settings import Settings, is_size, size_text, variable_of

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| `AXISCAST_.*$", PAGE, re.MULTILINE)]


def shown(name: str, default: object) -> str:
    if default == "":
        return "none"
    if is_size(name):
        assert isinstance(default, int)
        return f"`{size_text(default)}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_the_table_has_each_setting_with_its_default_and_meaning() -> None:
    assert [(variable, default, meaning) for variable, default, meaning, _ in ROWS] == [
        (f"`{variable_of(one.name)}`", shown(one.name, one.default), one.metadata["help"]) for one in fields(Settings)
    ]


def test_each_row_explains_when_to_change_the_setting() -> None:
    assert all(row[-1] for row in ROWS)
    assert len(ROWS) == 20


@cases(
    ("text", "nbytes"),
    [
        ("1048576", 1_048_576),
        ("256MiB", 268_435_456),
        ("256 mib", 268_435_456),
        ("256Mi", 268_435_456),
        ("64KiB", 65_536),
        ("16GiB", 17_179_869_184),
        ("2Ti", 2_199_023_255_552),
    ],
)
def test_a_size_is_a_number_of_bytes_or_has_a_binary_unit(text: str, nbytes: int) -> None:
    assert Settings.from_environment({"AXISCAST_MAX_OUTPUT_BYTES": text}).max_output_bytes == nbytes


@cases("text", ["256m", "256MB", "1.5GiB", "-1", "MiB", "256MiBs", "1e6", "\u0662", "512KiB", "9" * 5000])
def test_a_size_in_any_other_form_is_an_error(text: str) -> None:
    expected = "AXISCAST_MEMORY_BUDGET_BYTES must be a size of at least 1MiB, such as 1048576 or 256MiB, not "
    with pytest.raises(ValueError, match=re.escape(expected)):
        Settings.from_environment({"AXISCAST_MEMORY_BUDGET_BYTES": text})


@cases(
    ("nbytes", "text"), [(0, "0"), (1, "1"), (1023, "1023"), (65536, "64KiB"), (100663296, "96MiB"), (2**34, "16GiB")]
)
def test_a_size_is_shown_with_its_largest_whole_unit(nbytes: int, text: str) -> None:
    assert size_text(nbytes) == text


def test_the_option_takes_a_size_and_its_help_shows_one() -> None:
    done = run([sys.executable, "-m", "axiscast", "serve", "--help"])
    assert "--max-body-bytes SIZE" in done.stdout
    assert "default 64MiB]" in done.stdout


# --- the memory limit of the container ---

MIB = 2**20
_TABLE = re.findall(
    r"^\| (\d+) \| (yes|no) \| (\d+) MiB \| `(\w+)` \| (\d+) MiB \|$",
    (Path(__file__).parents[2] / "docs" / "operations.md").read_text(),
    re.MULTILINE,
)


def settings_of(workers: str, tls: str, budget: str) -> Settings:
    return Settings.from_environment(
        {
            "AXISCAST_WORKERS": workers,
            "AXISCAST_MEMORY_BUDGET_BYTES": budget,
            "AXISCAST_TLS_CERTIFICATE": "certificate.pem" if tls == "yes" else "",
        }
    )


@cases(("workers", "tls", "limit", "budget", "requests"), _TABLE)
def test_each_row_of_the_memory_table_fits_exactly(
    workers: str, tls: str, limit: str, budget: str, requests: str
) -> None:
    settings = settings_of(workers, tls, budget)
    assert memory_warning(settings, int(limit) * MIB) is None
    assert memory_warning(settings, int(limit) * MIB - 1) is not None
    assert MemoryBudget(settings.memory_budget_bytes, encrypted=tls == "yes").limit == int(requests) * MIB


def test_the_memory_table_has_rows() -> None:
    assert len(_TABLE) >= 5


def test_a_budget_that_does_not_fit_the_limit_is_a_warning_with_the_largest_budget_that_fits() -> None:
    warning = memory_warning(settings_of("2", "no", "128MiB"), 512 * MIB)
    assert warning == (
        "these settings need 576MiB of memory, but the limit is 512MiB: set AXISCAST_MEMORY_BUDGET_BYTES to at most "
        "96MiB, or raise the limit (docs/operations.md, Memory)"
    )
    assert memory_warning(settings_of("2", "no", "96MiB"), 512 * MIB) is None
    assert memory_warning(settings_of("2", "no", "128MiB"), None) is None
    impossible = memory_warning(settings_of("2", "yes", "128MiB"), 64 * MIB)
    assert (
        impossible
        == "these settings need 832MiB of memory, but the limit is 64MiB: raise the limit (docs/operations.md, Memory)"
    )


def written(root: Path, groups: str, files: dict[str, str]) -> None:
    for path, text in {
        "proc/self/cgroup": groups,
        **{f"sys/fs/cgroup/{path}": text for path, text in files.items()},
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


HYBRID = "4:memory:/docker/1a2b\n1:cpu:/\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "268435456\n"}, 268_435_456),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {}, None),
        # systemd: the unit has no limit, but its slice has one
        ("0::/a/b.service\n", {"a/b.service/memory.max": "max\n", "a/memory.max": "1048576\n"}, 1_048_576),
        ("0::/a/b\n", {"a/b/memory.max": "2097152\n", "a/memory.max": "1048576\n", "c/memory.max": "1\n"}, 1_048_576),
        # version 1: the path is the host's, which does not exist in the container
        (HYBRID, {"memory/memory.limit_in_bytes": "536870912\n"}, 536_870_912),
        (HYBRID, {f"{group}/memory.limit_in_bytes": "1048576\n" for group in ("memory/docker/1a2b", "x")}, 1_048_576),
    ],
)  # fmt: skip
def test_the_memory_limit_is_the_smallest_of_the_groups_of_the_process(
    groups: str, files: dict[str, str], limit: int | None, tmp_path: Path
) -> None:
    written(tmp_path, groups, files)
    assert memory_limit(tmp_path) == limit


def test_a_system_without_cgroups_has_no_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None


def test_a_service_whose_budget_does_not_fit_warns_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from axiscast_service import serve

    monkeypatch.setattr(serve, "memory_limit", lambda: 200 * MIB)
    assert [message for message in serve._warnings(Settings()) if "memory" in message] == [
        "these settings need 256MiB of memory, but the limit is 200MiB: set AXISCAST_MEMORY_BUDGET_BYTES to at most "
        "72MiB, or raise the limit (docs/operations.md, Memory)"
    ]
