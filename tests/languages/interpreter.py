"""Runs code in other languages than Python: JavaScript with TensorFlow.js, and Octave.

A program in the language (javascript.mjs, octave.m) reads a job from each line of its input, and writes a line for each
result. TensorFlow.js must be installed in the Python environment that runs this file:

    npm install --prefix /environments/tfjs @tensorflow/tfjs@4.22.0

node and octave-cli must be on the PATH. This file imports NumPy, but not axiscast.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_FOLDER = Path(__file__).parent
_DTYPES = {"b": "bool", "i": "int32", "u": "int32", "f": "float32"}


class Interpreter:
    """A running program of another language."""

    preamble = ""
    assignment = "y ="

    def __init__(self, command: list[str], folder: str | None = None) -> None:
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.version = self._answer()["version"]

    def run(self, code: str, inputs: dict[str, Array], outputs: list[str]) -> list[Array]:
        """Return the values of the variables `outputs` after the code. Raises RuntimeError with the error's message."""
        arrays = {
            name: {"shape": array.shape, "dtype": _DTYPES[array.dtype.kind], "data": array.ravel().tolist()}
            for name, array in inputs.items()
        }
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"code": code, "inputs": arrays, "outputs": outputs}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return [np.ravel(one["data"]).reshape(np.ravel(one["shape"]).astype(int)) for one in answer["outputs"]]

    def execute(self, code: str) -> None:
        """Run statements. Raises RuntimeError as `run` does."""
        self.run(self.preamble + code, {}, [])

    def call(self, expression: str, *inputs: Array) -> Array:
        """Return the value of an expression of the inputs x0, x1 and so on. Raises RuntimeError as `run` does."""
        names = {f"x{number}": array for number, array in enumerate(inputs)}
        return self.run(f"{self.preamble}{self.assignment} {expression};", names, ["y"])[0]

    def _answer(self) -> Any:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith('{"'):
                return json.loads(line)
        raise RuntimeError(f"the program ended with {self._process.wait()}")


class JavaScript(Interpreter):
    """Node with TensorFlow.js."""

    preamble = 'import * as tf from "@tensorflow/tfjs";\n'
    assignment = "const y ="


@cache
def javascript() -> Interpreter:
    return JavaScript(["node", str(_FOLDER / "javascript.mjs")], sys.prefix)


@cache
def octave() -> Interpreter:
    return Interpreter(["octave-cli", "--no-gui", "--quiet", "--norc", "--no-line-editing", str(_FOLDER / "octave.m")])
