"""The table of sentences in this folder is complete: it reaches every line and every row of the package `words`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from runpy import run_path
from types import CodeType, FrameType
from typing import Any

import pytest

import axiscast.drawing.summary
import axiscast.words

MODULES = [
    *(import_module(f"axiscast.words.{path.stem}") for path in Path(*axiscast.words.__path__).glob("[a-z]*.py")),
    axiscast.drawing.summary,
]
TABLES = [
    str(Path(__file__).with_name(f"test_{name}.py"))
    for name in ("picture_sentences", "findings", "refusals", "sentences", "topics", "translations")
]
IS_FUNCTION = 0x2
"""The flag CO_NEWLOCALS of the code of a function. The code of a class does not have it."""


class Rows(dict[Any, Any]):
    """A table that lists the rows that were not read."""

    def __init__(self, rows: dict[Any, Any]) -> None:
        super().__init__(rows)
        self.unread = set(rows)

    def __getitem__(self, key: Any) -> Any:
        self.unread.discard(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.unread.discard(key)
        return super().get(key, default)


def lines_of(code: CodeType) -> Iterator[int]:
    """Yield the lines of the functions in a module."""
    for inner in (each for each in code.co_consts if isinstance(each, CodeType)):
        if inner.co_flags & IS_FUNCTION:
            yield from {line for *_, line in inner.co_lines() if line and line != inner.co_firstlineno}
        yield from lines_of(inner)


def test_each_line_and_row_of_words_has_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[tuple[str, Rows]] = []
    unread: dict[str, set[int]] = {}
    for module in MODULES:
        source = Path(str(module.__file__))
        unread[str(source)] = {*lines_of(compile(source.read_text(), "", "exec"))}
        for name, rows in [*vars(module).items()]:
            if isinstance(rows, dict) and not name.startswith(("__", "_OPERATOR")):  # operators are no sentences
                tables.append((f"{source.name} {name}", Rows(rows)))
                monkeypatch.setattr(module, name, tables[-1][1])

    def trace(frame: FrameType, *_: object) -> Any:
        lines = unread.get(frame.f_code.co_filename)
        if lines is not None:
            lines.discard(frame.f_lineno)
        return None if lines is None else trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        for name, test in [each for table in TABLES for each in run_path(table).items()]:
            marks = getattr(test, "pytestmark", None)
            for row in marks[0].args[1] if marks else [()] if name.startswith("test_") else []:
                test(*row)
    finally:
        sys.settrace(previous)
    missing = [f"{file}:{line}" for file, lines in unread.items() for line in sorted(lines)]
    missing += [f"{table}[{key!r}]" for table, rows in tables for key in rows.unread]
    assert not missing, "\n".join(missing)
