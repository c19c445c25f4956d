"""Record the parts of the programs that check_torch and check_jax read: python -m programs.record, in tests/.

Needs torch and jax. A symbolic size is recorded as text, and a node or a variable as a number.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PARAMETERS = ("broadcast_dimensions", "permutation", "name", "cond_nconsts", "body_nconsts")
"""The parameters of jax's equations that check_jax reads."""


def _size(size: Any) -> int | str:
    return size if isinstance(size, int) else str(size)


def _argument(argument: Any) -> Any:
    return {"node": argument.name} if hasattr(argument, "meta") else argument if isinstance(argument, bool) else None


def _integers(parameter: Any) -> Any:
    return [*map(int, parameter)] if isinstance(parameter, list | tuple) else parameter


def _file(path: str) -> str:
    """Return a path without the parts of this machine, or no path for generated code."""
    if path.startswith("<"):
        return path
    for root in ("site-packages", "tests/programs"):
        if root in path:
            return f"/{root}{path.rpartition(root)[2]}"
    return f"/lib/python3.11/{os.path.basename(path)}"


def _line(line: str) -> str:
    """Return a line of a stack trace without the path of this machine."""
    before, quote, rest = line.partition('"')
    path, end, after = rest.partition('"')
    return f"{before}{quote}{_file(path)}{end}{after}" if before.strip() == "File" else line


def of_torch(program: Any) -> dict[str, Any]:
    import torch

    graphs = {}
    for path, module in program.graph_module.named_modules():
        if not hasattr(module, "graph"):
            continue
        nodes = []
        for node in module.graph.nodes:
            value = node.meta.get("val")
            arguments = [
                [_argument(each) for each in argument] if isinstance(argument, list | tuple) else _argument(argument)
                for argument in node.args
            ]
            lines = (node.meta.get("stack_trace") or "").splitlines()
            nodes.append(
                {
                    "name": node.name,
                    "target": str(node.target),
                    "pointwise": torch.Tag.pointwise in getattr(node.target, "tags", ()),
                    "args": arguments,
                    "shape": [_size(size) for size in value.shape] if hasattr(value, "shape") else None,
                    "torch_fn": node.meta.get("torch_fn"),
                    "dtype": str(getattr(value, "dtype", "")),
                    "stack_trace": "\n".join(map(_line, lines)),
                }
            )
        graphs[path] = nodes
    return {
        "torch": torch.__version__,
        "parameters": dict(program.graph_signature.inputs_to_parameters),
        "inputs": [*program.graph_signature.user_inputs],
        "ranges": {
            str(size): [int(limits.lower), str(limits.upper)] for size, limits in program.range_constraints.items()
        },
        "environment": _environment(program),
        "graphs": graphs,
    }


def _environment(program: Any) -> dict[str, Any]:
    """Return torch's facts about the symbols: the sources of each, and the user's names for them."""
    values = [node.meta.get("val") for node in program.graph_module.graph.nodes]
    sizes = [size for value in values for size in getattr(value, "shape", ()) if not isinstance(size, int)]
    environment = sizes[0].node.shape_env
    return {
        "sources": {str(symbol): [place.name for place in all_] for symbol, all_ in environment.var_to_sources.items()},
        "names": environment.source_name_to_debug_name,
    }


def of_jax(traced: Any) -> dict[str, Any]:
    import jax

    numbers: dict[int, int] = {}

    def value(variable: Any) -> dict[str, Any]:
        known = {"shape": [_size(size) for size in variable.aval.shape], "kind": variable.aval.dtype.kind}
        if hasattr(variable, "val"):
            return known
        return known | {"number": numbers.setdefault(id(variable), len(numbers))}

    def recorded(jaxpr: Any) -> dict[str, Any]:
        return {
            "invars": [value(each) for each in jaxpr.invars],
            "constvars": [value(each) for each in jaxpr.constvars],
            "equations": equations(jaxpr),
            "outvars": [value(each) for each in jaxpr.outvars],
        }

    def equations(jaxpr: Any) -> list[dict[str, Any]]:
        found = []
        for equation in jaxpr.eqns:
            jaxprs = {}
            for key, parameter in equation.params.items():
                parts = parameter if isinstance(parameter, list | tuple) else (parameter,)
                inner = [getattr(each, "jaxpr", each) for each in parts]
                if called := [recorded(each) for each in inner if hasattr(each, "eqns")]:
                    jaxprs[key] = called
            frames = equation.source_info.traceback.frames
            own = next((number for number, frame in enumerate(frames) if "site-packages" not in frame.file_name), -1)
            found.append(
                {
                    "primitive": equation.primitive.name,
                    "invars": [value(each) for each in equation.invars],
                    "outvars": [value(each) for each in equation.outvars],
                    "params": {key: _integers(equation.params[key]) for key in PARAMETERS if key in equation.params},
                    "jaxprs": jaxprs,
                    "frames": [
                        [_file(frame.file_name), frame.function_name, frame.line_num] for frame in frames[: own + 1]
                    ],
                }
            )
        return found

    return {"jax": jax.__version__, **recorded(traced.jaxpr.jaxpr)}


def main() -> None:
    from . import of_jax as jax_program
    from . import of_torch as torch_program
    from . import torch_guarded

    programs = {
        "torch": of_torch(torch_program.program()),
        "torch_guarded": of_torch(torch_guarded.exported(torch_guarded.added)),
        "torch_decomposed": of_torch(torch_program.program(is_decomposed=True)),
        "jax": of_jax(jax_program.traced()),
    }
    for name, recorded in programs.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(recorded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
