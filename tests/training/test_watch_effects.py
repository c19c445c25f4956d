"""The effects of watch on the program that it watches (`make models` runs these tests with torch)."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import warnings
from typing import Any

import fake_torch
import pytest
from conftest import run

import axiscast
from axiscast.training import watching

pytest_plugins = ["watched_torch"]


def warn(torch: Any) -> None:
    torch.warn("of torch", 0)


@pytest.mark.parametrize("watches", [0, 1, 2])
def test_a_warning_of_torch_has_the_line_of_the_call(stand_in: Any, watches: int) -> None:
    with contextlib.ExitStack() as stack, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(watches):
            stack.enter_context(axiscast.watch())
        warn(stand_in)
    found = [(str(warning.message), warning.category, warning.filename, warning.lineno) for warning in said]
    assert found == [("of torch", UserWarning, __file__, warn.__code__.co_firstlineno + 1)]


def test_filters_by_module_match_a_watched_module_and_a_line_warns_once(stand_in: Any) -> None:
    scope: dict[str, Any] = {"__name__": "a.module", "torch": stand_in}
    exec("def warn(): torch.warn('of torch', 0)", scope)
    with axiscast.watch(), warnings.catch_warnings():
        warnings.filterwarnings("error", module=r"a\.module$")
        with pytest.raises(UserWarning, match="of torch"):
            scope["warn"]()
        warnings.filterwarnings("ignore", module=r"a\.module$")
        scope["warn"]()
    with axiscast.watch(), warnings.catch_warnings(record=True) as said:
        warnings.resetwarnings()
        warnings.filterwarnings("default")
        scope["warn"]()
        scope["warn"]()
    assert len(said) == 1
    assert ("of torch", UserWarning, 1) in scope["__warningregistry__"]


def test_a_watch_calls_no_other_mode(torch: Any) -> None:
    called: list[str] = []

    class Recording(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func)
            return func(*args, **(kwargs or {}))

    x, column = torch.ones(5), torch.ones(5, 1)
    with Recording(), axiscast.watch(on=lambda finding: None) as seen:
        x - column
    assert len(seen.findings) == 1
    assert called == [torch.Tensor.sub]


def test_a_watch_calls_no_class_of_tensors(torch: Any) -> None:
    class Own(torch.Tensor):  # type: ignore[misc]
        @property
        def ndim(self) -> int:
            raise AssertionError("read")

        shape = is_nested = ndim

    x = torch.ones(5)
    own = torch.ones(5, 1).as_subclass(Own)
    with axiscast.watch(on=lambda finding: None) as seen:
        x - own
    assert len(seen.findings) == 1


def test_a_function_that_keeps_axes_accepts_its_tensor_by_keyword(torch: Any) -> None:
    with axiscast.watch(on="error"):
        column = torch.ones(5)[:, None]
        assert torch.neg(input=column).shape == (5, 1)


@pytest.mark.parametrize(
    "arguments", [{"on": "raise"}, {"on": None}, {"kinds": "square"}, {"kinds": ["outer"]}, {"kinds": ()}]
)
def test_invalid_arguments_are_refused(arguments: Any) -> None:
    with pytest.raises(ValueError, match=r"^(on|kinds) must be"):
        axiscast.watch(**arguments)


def test_a_torch_that_is_missing_or_too_old_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    watching.load_mode.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs torch 2\.4"), axiscast.watch():
        pass
    fake_torch.install(monkeypatch.setitem).__dict__["__version__"] = "2.3.1+cpu"
    with (
        pytest.raises(ImportError, match=r"torch 2\.4 or later, but 2\.3\.1\+cpu is installed: pip .* 'torch>=2\.4'"),
        axiscast.watch(),
    ):
        pass


def test_nothing_is_imported_before_the_first_finding() -> None:
    code = """
import sys, fake_torch, axiscast
torch = fake_torch.install()
with axiscast.watch():
    torch.ones(5)[:, None] - torch.ones(5)
print({"numpy", "pydantic", "pytest", "axiscast.messages", "axiscast.ops"} & {*sys.modules})
"""
    done = run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's warning about sizes, and Dynamo's between operations
def test_every_planted_bug_is_found_at_its_line() -> None:
    pytest.importorskip("torch")
    import planted

    bugs = [function for name, function in vars(planted).items() if inspect.isfunction(function) and name[0] != "_"]
    assert len(bugs) >= 20
    for bug in bugs:
        lines, first = inspect.getsourcelines(bug)
        with axiscast.watch(on=lambda finding: None) as seen:
            bug()
        marked = {first + number for number, line in enumerate(lines) if "# bug" in line}
        found = {finding.line for finding in seen.findings if finding.file == planted.__file__}
        assert (bug.__name__, found) == (bug.__name__, marked)
