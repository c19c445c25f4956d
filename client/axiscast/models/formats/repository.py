"""Where a finding stands: the file of a recorded line, found again in the repository that is here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from os import path as os_path
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from ..finding import Finding
from ..report import Report


class Repository:
    """The files below a folder: the nearest one around this process's that has `.git`, or just that one.

    A model records the paths of the machine that exported it. Such a file is looked for by what its path ends in.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._files: dict[str, str | None] = {}

    @cached_property
    def root(self) -> Path:
        here = (self._root or Path.cwd()).resolve()
        around = (folder for folder in (here, *here.parents) if (folder / ".git").exists())
        return here if self._root is not None else next(around, here)

    def path_of(self, file: str) -> str | None:
        """The path of a file relative to the root, with slashes; None where it is not below it."""
        if file not in self._files:
            self._files[file] = self._find(file)
        return self._files[file]

    def place_of(self, finding: Finding, report: Report) -> tuple[str, int | None]:
        """A file of the repository, and the line if that is known: of the source, or else the model itself."""
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
        """The path itself as this process sees it, and then all that it ends in."""
        yield Path.cwd() / file
        recorded = PureWindowsPath(file) if "\\" in file else PurePosixPath(file)
        parts = recorded.parts[1:] if recorded.anchor else recorded.parts
        for first in range(max(0, len(parts) - _DEPTH), len(parts)):
            yield PurePath(*parts[first:])


_DEPTH = 32
"""Folders of a recorded path that are looked for."""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or a folder that may not be read
        return False
