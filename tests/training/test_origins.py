"""Whether an outer product is meant: `watch` and `check_torch` on one list of functions."""

from __future__ import annotations

from typing import Any

import pytest

import axiscast

torch = pytest.importorskip("torch")
import accidental_products  # noqa: E402, F401  # it imports torch, and adds its functions to CASES
import intended_products  # noqa: E402, F401
from origin_cases import CASES, Case  # noqa: E402


def exported(case: Case, inputs: list[Any]) -> Any:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: Any) -> Any:
            return case.function(*tensors)

    return torch.export.export(Model(), tuple(inputs))


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", CASES)
def test_a_watch_and_check_torch_report_the_bugs_and_the_known_false_alarms_only(name: str) -> None:
    case = CASES[name]
    inputs = [torch.rand(shape) + 0.5 for shape in case.shapes]
    with axiscast.watch(on=lambda finding: None) as watch:
        case.function(*inputs)
    report = axiscast.check_torch(exported(case, inputs))
    assert (bool(watch.findings), bool(report.findings)) == (case.is_reported, case.is_reported)
