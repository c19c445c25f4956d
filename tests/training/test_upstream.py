"""watch on the planted bugs and the correct functions of tests/upstream (`make models`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import axiscast

torch = pytest.importorskip("torch")

from upstream import Case, densities, idioms, regression, reinforcement  # noqa: E402

CASES = [*reinforcement.CASES, *regression.CASES, *densities.CASES, *idioms.CASES]
NOT_SQUARES = {"returns_of_one_environment", "quantiles_on_the_wrong_axis", "norms_on_the_wrong_axis"}
"""Bugs in which no input lacks the axis along which it expands, so that only the stricter kinds find them."""
ACCUSED = {"distances_to_a_codebook", "distances_with_keepdim", "euclidean_distances", "outer_product_by_unsqueeze"}
"""Correct functions that look like a bug: keepdim, or unsqueeze in arithmetic, with another tensor."""


def tensors(case: Case) -> Iterator[Any]:
    for shape, kind in case.arguments:
        if kind == "float":
            yield torch.rand(shape) + 0.1
        else:
            yield torch.zeros(shape, dtype=torch.int64 if kind == "int" else torch.bool)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_bugs_are_found_at_their_lines_and_correct_code_passes(case: Case) -> None:
    with axiscast.watch(on=lambda finding: None) as seen:
        case.function(*tensors(case))
    lines = {finding.line for finding in seen.findings if finding.file == case.file}
    if case.is_bug:
        assert (lines >= case.lines) is (case.name not in NOT_SQUARES)
    else:
        assert bool(lines) is (case.name in ACCUSED)


@pytest.mark.parametrize("kind", ["mutual-stretch", "rank-promotion"])
def test_stricter_kinds_find_the_rest(kind: Any) -> None:
    found = set()
    for case in CASES:
        if case.name in NOT_SQUARES:
            with axiscast.watch(on=lambda finding: None, kinds=(kind,)) as seen:
                case.function(*tensors(case))
            if {finding.line for finding in seen.findings} >= case.lines:
                found.add(case.name)
    assert found == (NOT_SQUARES if kind == "rank-promotion" else {"returns_of_one_environment"})


def test_the_halves_have_similar_sizes_and_each_bug_has_one_line_and_a_source() -> None:
    bugs = [case for case in CASES if case.is_bug]
    assert len(bugs) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(len(case.lines) == case.is_bug for case in CASES)
    assert all(case.source for case in CASES)
    halves = [case.half for case in bugs]
    assert min(map(halves.count, ("choose", "report"))) > 0.4 * len(bugs)
