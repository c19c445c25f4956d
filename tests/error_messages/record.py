"""Raises errors in a framework and records their messages, a line of JSON each.

Each case is a statement as a user writes it. The file of a framework lists its cases, and runs in an environment that
has the framework:

    /environments/numpy/bin/python tests/error_messages/numpy_messages.py

A line has `framework`, `version`, `call` (the statement), `about` ("broadcast" or "other"), `op`, `inputs` and
`attributes` (the check that this call is: the name of the rule in the catalogue, the shapes of its inputs; `op` is null
if the catalogue has none), and `text`: the exception's last lines, or a whole traceback if `whole`. `holds_shapes` is
whether the text has the shapes of all inputs, and of the attribute that is a shape, in a common notation.
"""

from __future__ import annotations

import json
import linecache
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from languages.interpreter import Interpreter
from languages.interpreter import javascript as javascript
from languages.interpreter import octave as octave


class Recorder:
    """The messages of one framework. `names` are the names that the statements use; `wait` waits for their end."""

    def __init__(
        self, framework: str, version: str, names: dict[str, Any], wait: Callable[[], object] = lambda: None
    ) -> None:
        self.framework, self.version, self.names, self.wait = framework, version, names, wait
        self.lines: list[dict[str, Any]] = []

    def broadcast(
        self, call: str, op: str | None, *inputs: tuple[int | str, ...], whole: bool = False, holds: bool | None = None,
        **attributes: Any,
    ) -> None:  # fmt: skip
        """Record a call whose shapes do not broadcast. `holds` is given if the text has sizes that look like shapes."""
        self._record("broadcast", call, op, [*map(list, inputs)], attributes, whole, holds)

    def other(self, call: str, whole: bool = False) -> None:
        """Record a call that fails for another reason."""
        self._record("other", call, None, [], {}, whole, None)

    def _record(
        self, about: str, call: str, op: str | None, inputs: list[Any], attributes: Any, whole: bool, holds: bool | None
    ) -> None:
        text, last = self._texts(call, whole)
        if not text:
            print(f"no error: {call}", file=sys.stderr)
            return
        line = {"framework": self.framework, "version": self.version, "call": call, "about": about, "op": op}
        line |= {"inputs": inputs} | ({"attributes": attributes} if attributes else {})
        if op is not None:
            shapes = [shape for shape in [*inputs, *attributes.values()] if _is_shape(shape)]
            plain = self.framework in ("mlx", "mindspore")
            line["holds_shapes"] = all(_holds(last, shape, plain) for shape in shapes) if holds is None else holds
        self.lines.append({**line, "text": text})

    def _texts(self, call: str, whole: bool) -> tuple[str, str]:
        """Return the error or the warning of a statement: with its traceback if requested, and its last lines.

        If the statement gives neither, both strings are empty.
        """
        file = f"train_{len(self.lines)}.py"
        linecache.cache[file] = (len(call), None, call.splitlines(keepends=True), file)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                exec(compile(call, file, "exec"), dict(self.names))
                self.wait()
            except Exception as error:
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
                last = "".join(traceback.format_exception_only(error)).rstrip("\n")
                text = "".join(traceback.format_exception(error)).rstrip("\n") if whole else last
                return _without_paths(text), last
        mismatches = [warning for warning in warned if "size" in str(warning.message)]
        text = f"UserWarning: {mismatches[0].message}" if mismatches else ""
        return text, text

    def write(self) -> None:
        """Write all lines beside this file."""
        path = Path(__file__).with_name(f"{self.framework}.jsonl")
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        shapes = sum(line["about"] == "broadcast" for line in self.lines)
        print(f"{self.framework} {self.version}: {shapes} about broadcasting, {len(self.lines) - shapes} others")


class CodeRecorder(Recorder):
    """The messages of a framework in another language, which languages/interpreter.py runs."""

    def __init__(self, framework: str, interpreter: Interpreter) -> None:
        super().__init__(framework, interpreter.version, {})
        self.interpreter = interpreter

    def _texts(self, call: str, whole: bool) -> tuple[str, str]:
        try:
            self.interpreter.execute(call)
        except RuntimeError as error:
            return str(error), str(error)
        return "", ""


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(type(size) in (int, str) for size in value)


def _holds(text: str, shape: Any, plain: bool) -> bool:
    """Whether a text has a shape. If `plain`, a shape of one axis is written (3)."""
    sizes = [*map(str, shape)]
    written = [f"{left}{comma.join(sizes)}{right}" for left, right in ("()", "[]", "{}") for comma in (", ", ",", " ")]
    if len(sizes) == 1:
        written = [f"({sizes[0]})"] if plain else []
        written += [f"({sizes[0]},)", f"[{sizes[0]}]", f"{{{sizes[0]}}}", f"{{{sizes[0]},}}", f"({sizes[0]}),"]
    return any(each in text for each in written) or (len(sizes) == 2 and "x".join(sizes) in text)


def _without_paths(text: str) -> str:
    """A text in which this environment's folder is called /venv."""
    text = text.replace(sys.prefix, "/venv").replace(str(Path(__file__).parent), "/project")
    return text.replace(tempfile.gettempdir(), "/temporary")
