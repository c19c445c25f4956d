"""The pytest plugin, which watches each test if `--axiscast-broadcast` or the ini option enables it.

pytest loads this module in every environment where axiscast is installed. For this reason, the module imports no other
modules of axiscast unless the plugin is enabled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # importing these modules at run time would also import pydantic, which is slow
    from ..messages.findings import Finding
    from .watching import Watch

_ANNOTATIONS = "axiscast_annotations"
"""The attribute of a pytest report that stores annotations. pytest-xdist sends this attribute from its workers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line option and the ini option that enable the watch."""
    group = parser.getgroup("axiscast")
    group.addoption(
        "--axiscast-broadcast",
        choices=("off", "warn", "error"),
        help="What happens if a torch operation in a test broadcasts suspiciously, such as (N,) with (N, 1): nothing "
        "(off), a warning, or an error. The default is the ini option axiscast_broadcast.",
    )
    parser.addini("axiscast_broadcast", "The default of --axiscast-broadcast: off, warn or error.", default="off")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and, if the watch is enabled, the watch. Raises UsageError for an invalid option."""
    config.addinivalue_line("markers", 'axiscast("allow"): do not report suspicious broadcasts of torch operations')
    on = config.getoption("--axiscast-broadcast") or config.getini("axiscast_broadcast")
    if on not in ("off", "warn", "error"):
        raise pytest.UsageError(f"axiscast_broadcast must be off, warn or error, not {on!r}")
    if on != "off":
        from .watching import Watch, load_mode

        try:
            load_mode()
        except ImportError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(WatchPlugin(lambda: Watch(on, ("square",))), "axiscast-watch")


class WatchPlugin:
    """The plugin object that watches each test and its fixtures. In a GitHub workflow, it also prints annotations."""

    def __init__(self, watch: Callable[[], Watch]) -> None:
        self._watch = watch
        self._findings: list[Finding] = []
        self._annotations: dict[str, None] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            marker = item.get_closest_marker("axiscast")
            if marker is not None and (marker.args, marker.kwargs) != (("allow",), {}):
                raise pytest.UsageError(f'{item.nodeid}: the marker axiscast takes exactly one argument, "allow"')

    @pytest.hookimpl(hookwrapper=True)  # old pytest releases support only this kind of wrapper
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if item.get_closest_marker("axiscast") is not None:
            yield
            return
        with self._watch() as watch:
            self._findings = watch.findings
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        from .watching import SuspiciousBroadcast

        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, SuspiciousBroadcast) and (traceback := _user_traceback(error.__traceback__)) is not None:
            call.excinfo = pytest.ExceptionInfo.from_exc_info((type(error), error, traceback))
        if isinstance(error, Exception):
            from ..explanation.exceptions import add_why

            add_why(error)
        outcome = yield
        if self._findings and "GITHUB_ACTIONS" in os.environ:
            from ..models.formats.github import workflow_commands
            from ..models.formats.repository import Repository
            from ..models.report import Report

            report = Report(str(item.path), tuple(self._findings))
            setattr(outcome.get_result(), _ANNOTATIONS, [*workflow_commands([report], Repository())])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._annotations |= dict.fromkeys(getattr(report, _ANNOTATIONS, ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for annotation in self._annotations:
            terminalreporter.write_line(annotation)


def _user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from which the frames of torch and of the watch are removed."""
    from .frames import is_internal

    frames = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame.f_code.co_filename):
            frames.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for each in reversed(frames):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result
