"""Repository: finds the source files in the user's repository whose paths a model records."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from os import path as os_path
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from ...messages.findings import Finding
from ..report import Report

_MAX_PARTS = 32
"""The maximum number of parts of a recorded path, from its end, that are used in the search."""


class Repository:
    """The source files below a root folder.

    The root is the given folder. If no folder is given, it is the nearest folder above the working directory that
    contains `.git`. A model records paths on the machine that exported the model. For this reason, a file is found by
    the last parts of its path.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._found: dict[str, str | None] = {}

    @cached_property
    def root(self) -> Path:
        """The absolute path of the repository's root folder."""
        folder = (self._root or Path.cwd()).resolve()
        with_git = (each for each in (folder, *folder.parents) if (each / ".git").exists())
        return folder if self._root is not None else next(with_git, folder)

    def path_of(self, file: str) -> str | None:
        """Return the path of a file, relative to the root and with slashes, or None if the file is not found."""
        if file not in self._found:
            self._found[file] = self._find(file)
        return self._found[file]

    def location_of(self, finding: Finding, report: Report) -> tuple[str, int | None]:
        """Return the source file and line of a finding.

        If the source file is not in the repository, return the path of the model, and None for the line.
        """
        source = finding.file and self.path_of(finding.file)
        return (source, finding.line) if source else (self.path_of(report.path) or report.path, None)

    def _find(self, file: str) -> str | None:
        if "\0" in file:
            return None
        for candidate in self._candidates(file):
            path = Path(os_path.normpath(self.root / candidate))
            if path.is_relative_to(self.root) and _is_file(path):
                return path.relative_to(self.root).as_posix()
        return None

    @staticmethod
    def _candidates(file: str) -> Iterator[PurePath]:
        """Yield the paths at which to search for a file.

        The first path is relative to the working directory. The other paths are the last parts of the file's path, and
        each of them is one part shorter than the path before it.
        """
        yield Path.cwd() / file
        recorded = PureWindowsPath(file) if "\\" in file else PurePosixPath(file)
        parts = recorded.parts[1:] if recorded.anchor else recorded.parts
        for first in range(max(0, len(parts) - _MAX_PARTS), len(parts)):
            yield PurePath(*parts[first:])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the file name is too long, or the folder is not readable
        return False
