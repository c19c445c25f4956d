"""Runs programs that fail, and writes what axiscast says about each failure. It runs in a framework's environment.

The input and the output are one JSON object on each line.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import traceback
import warnings
from typing import Any

PREAMBLES = {
    "numpy": "import numpy as np",
    "torch": "import numpy as np, torch\nimport torch.nn as nn, torch.nn.functional as F",
    "pandas": "import numpy as np, pandas as pd",
    "scipy": "import numpy as np, scipy",
    "sklearn": "import numpy as np, sklearn",
    "xarray": "import numpy as np, xarray as xr",
    "polars": "import numpy as np, polars as pl",
    "jax": "import numpy as np, jax\nimport jax.numpy as jnp",
    "tensorflow": "import numpy as np, tensorflow as tf",
    "keras": "import numpy as np, keras",
    "mlx": "import mlx.core as mx\nimport mlx.nn as mnn",
    "paddle": "import paddle",
    "einops": "import numpy as np\nfrom einops import einsum, rearrange, reduce, repeat",
    "openvino": "import numpy as np, openvino as ov\nimport openvino.opset13",
    "onnx": """import numpy as np, onnx, onnxruntime as ort
from onnx import TensorProto, helper
def session(nodes, inputs):
    values = [helper.make_tensor_value_info(n, getattr(TensorProto, kind), shape) for n, kind, shape in inputs]
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString())
def run_node(op, *shapes, third=None, types=None, **attributes):
    shapes = [*shapes, *([third] if third else [])]
    types = types or ["FLOAT"] * len(shapes)
    names = ["a", "b", "c"][: len(shapes)]
    node = helper.make_node(op, names, ["y"], name="node_1", **attributes)
    run = session([node], [(name, kind, [None] * len(shape)) for name, kind, shape in zip(names, types, shapes)])
    kinds = {"FLOAT": np.float32, "BOOL": bool}
    return run.run(None, {name: np.ones(shape, kinds[kind]) for name, kind, shape in zip(names, types, shapes)})
def run_input(declared, shape):
    run = session([helper.make_node("Relu", ["a"], ["y"])], [("a", "FLOAT", declared)])
    return run.run(None, {"a": np.ones(shape, np.float32)})""",
}
_STATES: dict[str, dict[str, Any]] = {}


def execute(framework: str, code: str, number: int) -> BaseException | None:
    """Run a program after the imports of its framework, and return its exception."""
    if framework not in _STATES:
        _STATES[framework] = {"__name__": "__main__"}
        exec(PREAMBLES[framework], _STATES[framework])
    name, code = f"/home/me/project/program_{number}.py", f"{code}\n"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        exec(compile(code, name, "exec", dont_inherit=True), dict(_STATES[framework]))
    except Exception as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    return None


def main() -> None:
    from axiscast.explanation.answers import answer_why
    from axiscast.explanation.exceptions import add_why

    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some frameworks print
    for number, line in enumerate(sys.stdin):
        case = json.loads(line)
        error = execute(case["framework"], case["code"], number)
        result: dict[str, Any] = {"error": None}
        if error is not None:
            result["error"] = "".join(traceback.format_exception(error))
            result["why"] = answer_why(result["error"]).message
            add_why(error)
            notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("axiscast")]
            result["run"] = notes[-1].removeprefix("axiscast: ") if notes else ""
        print(json.dumps(result), file=out, flush=True)


if __name__ == "__main__":
    main()
