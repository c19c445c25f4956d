"""The pytest plugin: every test under a watch, where `--axiscast-broadcast` or the ini option asks for it.

pytest loads it wherever axiscast is installed, so it imports nothing before a test is to be watched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # which takes pydantic
    from ..models import Finding
    from .watching import Watch

_SAID = "axiscast_annotations"
"""The attribute of a test's report: the commands of its findings, which pytest-xdist brings from its workers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("axiscast")
    group.addoption(
        "--axiscast-broadcast",
        choices=("off", "warn", "error"),
        help="what a suspicious broadcast of a torch operation does in a test, (N,) meeting (N, 1) say: nothing (off), "
        "a warning, or an error; by default what the ini option axiscast_broadcast says",
    )
    parser.addini("axiscast_broadcast", "off, warn or error: see --axiscast-broadcast", default="off")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", 'axiscast("allow"): suspicious broadcasts of torch operations are meant here')
    on = config.getoption("--axiscast-broadcast") or config.getini("axiscast_broadcast")
    if on not in ("off", "warn", "error"):
        raise pytest.UsageError(f"axiscast_broadcast must be off, warn or error, not {on!r}")
    if on != "off":
        from .watching import Watch, watching

        try:
            watching()
        except ImportError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(Watched(lambda: Watch(on, ("square",))), "axiscast-watched")


class Watched:
    """The watch over each test, its fixtures included; on GitHub, the annotations of what was found."""

    def __init__(self, watch: Callable[[], Watch]) -> None:
        self._watch = watch
        self._findings: list[Finding] = []
        self._annotations: dict[str, None] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            marker = item.get_closest_marker("axiscast")
            if marker is not None and (marker.args, marker.kwargs) != (("allow",), {}):
                raise pytest.UsageError(f'{item.nodeid}: the marker axiscast takes "allow", and nothing else')

    @pytest.hookimpl(hookwrapper=True)  # the way that old releases of pytest know too
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if item.get_closest_marker("axiscast") is not None:
            yield
            return
        with self._watch() as seen:
            self._findings = seen.findings
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        from .watching import SuspiciousBroadcast

        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, SuspiciousBroadcast) and (own := _own(error.__traceback__)) is not None:
            call.excinfo = pytest.ExceptionInfo.from_exc_info((type(error), error, own))
        outcome = yield
        if self._findings and "GITHUB_ACTIONS" in os.environ:
            from ..models import Report
            from ..models.formats.github import workflow_commands
            from ..models.formats.repository import Repository

            report = Report(str(item.path), tuple(self._findings))
            setattr(outcome.get_result(), _SAID, [*workflow_commands([report], Repository())])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._annotations |= dict.fromkeys(getattr(report, _SAID, ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for annotation in self._annotations:
            terminalreporter.write_line(annotation)


def _own(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without what stands between the line that calls torch and what is told of it."""
    from .frames import is_between

    frames = []
    while traceback is not None:
        if not is_between(traceback.tb_frame.f_code.co_filename):
            frames.append(traceback)
        traceback = traceback.tb_next
    own: TracebackType | None = None
    for each in reversed(frames):
        own = TracebackType(own, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return own
