"""check_torch: checks the broadcasts in a program that torch has exported."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import typed
from ...messages.findings import Finding, Operand
from ..intent import AxisOrigin, FindingKind
from ..node_checks import NodeCheck
from ..packages import import_package
from ..provenance import Provenance, SourceLine, are_pairs_meant, axis_origin_on_line, derive, source_lines, user_line
from ..report import Report
from ..torch_functions import (
    ADD_AXIS,
    COMPARISONS,
    KEEP_AXIS,
    KEEP_ORIGIN,
    LISTS,
    LOSSES,
    OPERAND_COUNTS,
    OPERATOR_KEYWORDS,
    SELECT,
    function_name,
)
from .program_report import ProgramSizes, operation_check, report_program

__all__ = ["check_torch"]

OLDEST_EXPORTED_TORCH = "2.13"
"""The oldest torch release with which check_torch is tested."""
_BROADCASTING = OPERATOR_KEYWORDS | LOSSES
"""The torch functions that broadcast, and that torch does not tag as `pointwise`."""
_MODULE_FUNCTIONS = {"addmm", "conv1d", "conv2d", "conv3d", "convolution", "linear", "mm"}
"""The functions that are the only function of their module. Results of such functions are named after the module."""
_INDEX = ("aten.arange", "aten.lift_fresh_copy")
_MAX_UPPER_BOUND = 2**62


@typed
def check_torch(
    program: Any, *, assume: Mapping[str, int | str] | None = None, kinds: Sequence[FindingKind] = ("square",)
) -> Report:
    """Check every operation of a `torch.export.ExportedProgram` that broadcasts, and return a report.

    A symbolic size has the name of its `torch.export.Dim`. If it has no Dim, it has torch's name, such as "s17". Its
    range is the range in the program. An outer product ("square") is not reported if the code means to combine all
    pairs, as in x[:, None] - y (docs/training.md).

    `torch.export.load` executes code from the file, so load only files that you trust.

    Args:
        program: The exported program.
        assume: Known sizes or ranges for symbolic sizes, keyed by name.
        kinds: The kinds of suspicious broadcasts to report, as in `watch`.

    Raises:
        TypeError: `program` is not an ExportedProgram.
        ImportError: torch is missing or too old.

    >>> import axiscast
    >>> program = torch.export.export(model, (x, y))                        # doctest: +SKIP
    >>> axiscast.check_torch(program).exit_status()                       # doctest: +SKIP
    0
    """
    torch = import_package("torch", OLDEST_EXPORTED_TORCH, "check_torch")
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(f"program must be a torch.export.ExportedProgram, not {type(program).__name__}")
    sizes = ProgramSizes(given_names(program))
    ranges = {str(sizes.size(symbol)): _range_text(limits) for symbol, limits in program.range_constraints.items()}
    operations = [*torch_operations(program, sizes)]
    return report_program("ExportedProgram", operations, ranges | dict(assume or {}), kinds)


def torch_operations(program: Any, sizes: ProgramSizes) -> Iterator[NodeCheck]:
    """Yield the operations of a program that broadcast, including the operations in its subgraphs."""
    signature = program.graph_signature
    stored = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    constants = {*signature.inputs_to_lifted_tensor_constants}
    for path, module in program.graph_module.named_modules():
        provenances = _provenances(module, constants) if hasattr(module, "graph") else {}
        expanded = _expanded_operands(provenances)
        for node in provenances:
            lines = _lines(node)
            file, line = user_line(lines)
            for tensors in _operand_groups(node, expanded):
                if sum(bool(_shape(tensor)) for tensor in tensors) < 2:
                    continue
                operands = sizes.operands([(_tensor_name(tensor, stored), _shape(tensor)) for tensor in tensors])
                name = f"{path}/{node.name}" if path else node.name
                finding = Finding(
                    name, _op(node), operands, file=file, line=line, size_expressions=sizes.names.expressions
                )
                yield operation_check(finding, _is_meant(node, tensors, operands, provenances, lines))


def given_names(program: Any) -> dict[str, str]:
    """Return the names of the `torch.export.Dim` objects, keyed by torch's symbol.

    torch keeps these names in the symbols' environment. A program that was loaded from a file no longer has the names.
    """
    environment = next(_symbol_environments(program), None)
    names: Mapping[str, str] = getattr(environment, "source_name_to_debug_name", {})
    sources = {str(symbol): found for symbol, found in getattr(environment, "var_to_sources", {}).items()}
    given = {}
    for symbol, symbol_sources in sources.items():
        candidates = (names.get(_source_name(source), "") for source in symbol_sources)
        name = next((name for name in candidates if name.isidentifier() and name not in sources), None)
        if name is not None:
            given[symbol] = name
    return given


def _symbol_environments(program: Any) -> Iterator[Any]:
    """Yield torch's environment object for each symbolic size in a program."""
    for _, module in program.graph_module.named_modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            for size in getattr(node.meta.get("val"), "shape", ()):
                if hasattr(size, "node"):
                    yield size.node.shape_env


def _source_name(source: Any) -> str:
    """Return the name of a source object. Depending on the torch release, `name` is a method or a property."""
    return str(source.name() if callable(source.name) else source.name)


def _lines(node: Any) -> list[SourceLine]:
    return source_lines(node.meta.get("stack_trace") or "")


def _broadcasts(node: Any) -> bool:
    tags = getattr(node.target, "tags", ())
    return function_name(str(node.target)) in _BROADCASTING or any(tag.name == "pointwise" for tag in tags)


def _op(node: Any) -> str:
    """Return the name of an operation that is shown in findings.

    If a node only expands the operands of a loss function, return the name of the loss function.
    """
    called = _called_function(node)
    if str(node.target).startswith(("aten.broadcast_tensors.", "aten.expand.")) and called in LOSSES:
        return f"torch.nn.functional.{called}"
    return str(node.target)


def _tensor_name(node: Any, stored: Mapping[str, str]) -> str:
    """Return the name of a tensor: the name of its module, parameter or buffer, or otherwise the name of its node."""
    modules = [*node.meta.get("nn_module_stack", {}).values()]
    path = str(modules[-1][0]) if modules and function_name(str(node.target)) in _MODULE_FUNCTIONS else ""
    last = path.rpartition(".")[2]
    return (path if last.isdigit() else last) or stored.get(node.name, node.name)


def _operand_groups(node: Any, expanded: Mapping[str, list[Any]]) -> Iterator[list[Any]]:
    """Yield lists of tensors that a node broadcasts against each other.

    If the arguments are lists, the first tensors of all lists broadcast, then the second tensors, and so on.
    """
    if node.name in expanded:
        yield expanded[node.name]
    elif LISTS in str(node.target):
        lists = [argument for argument in node.args if isinstance(argument, list | tuple)]
        yield from ([*_tensors(group)] for group in zip(*lists, strict=False))
    elif _broadcasts(node):
        tensors = [*_tensors(node.args)]
        yield tensors[: OPERAND_COUNTS.get(function_name(str(node.target)))]


def _expanded_operands(nodes: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the tensors that are expanded by decomposed functions, such as losses.

    The key is the name of the first node that expands a tensor for the function call.
    """
    calls: dict[str, list[Any]] = {}
    for node in nodes:
        if str(node.target).startswith("aten.expand.") and _called_function(node) in _BROADCASTING:
            calls.setdefault(node.meta["torch_fn"][0], []).append(node)
    return {nodes_of_call[0].name: [node.args[0] for node in nodes_of_call] for nodes_of_call in calls.values()}


def _called_function(node: Any) -> str:
    """Return the torch function whose call created a node, such as "mse_loss", or "" if no function is recorded."""
    _, called = node.meta.get("torch_fn") or ("", "")
    return str(called).rpartition(".")[2]


def _tensors(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the nodes of all arguments that are tensors, including tensors in lists."""
    for argument in arguments:
        for each in argument if isinstance(argument, list | tuple) else (argument,):
            if hasattr(getattr(each, "meta", {}).get("val"), "shape"):
                yield each


def _shape(node: Any) -> tuple[Any, ...]:
    return tuple(node.meta["val"].shape)


def _provenances(module: Any, constants: Container[str]) -> dict[Any, Provenance]:
    """Return the provenance of the result of each node in a graph."""
    provenances: dict[Any, Provenance] = {}
    for node in module.graph.nodes:
        target = str(node.target)
        name, line = function_name(target), next(reversed(_lines(node)), None)
        axis_origin: AxisOrigin = ""
        if name in ADD_AXIS:
            axis_origin = "index" if _called_function(node) == "__getitem__" else axis_origin_on_line(line)
        elif name in KEEP_AXIS and any(argument is True for argument in node.args):
            axis_origin = "reduction"
        provenance = derive(
            [provenances[tensor] for tensor in _tensors(node.args)],
            keeps=name in ADD_AXIS or name in KEEP_ORIGIN or _broadcasts(node),
            is_index=target.startswith(_INDEX) or target in constants,
            axis_origin=axis_origin,
            line=line,
        )
        sizes = getattr(node.meta.get("val"), "shape", ())
        if name in SELECT and _nonunit(sizes) != _nonunit(_shape(node.args[0])):
            provenance = provenance._replace(source=object())  # two parts of a tensor can be a prediction and a target
        has_unit_axis = any(type(size) is int and size == 1 for size in sizes)
        provenances[node] = provenance if has_unit_axis else provenance._replace(axis_origin="", written_at=None)
    return provenances


def _nonunit(sizes: Iterable[Any]) -> list[str]:
    """Return the sizes other than 1 as sorted text, because symbolic sizes can't be compared."""
    return sorted(str(size) for size in sizes if str(size) != "1")


def _is_meant(
    node: Any,
    tensors: Sequence[Any],
    operands: Sequence[Operand],
    provenances: Mapping[Any, Provenance],
    lines: Sequence[SourceLine],
) -> bool:
    """Return whether the user means to combine all pairs if a node's operands form an outer product ("square")."""
    types = [tensor.meta["val"].dtype for tensor in tensors]
    is_discrete = not any(each.is_floating_point or each.is_complex for each in types)
    return are_pairs_meant(
        [provenances[tensor] for tensor in tensors],
        [operand.shape or () for operand in operands],
        lines[-1] if lines else None,
        is_discrete=is_discrete or function_name(str(node.target)) in COMPARISONS,
        is_loss=_called_function(node) in LOSSES or function_name(str(node.target)) in LOSSES,
    )


def _range_text(limits: Any) -> str:
    """Return the range of a symbolic size in the notation of `assume`, such as "2..64"."""
    upper = str(limits.upper)
    is_bounded = upper.isdigit() and int(upper) < _MAX_UPPER_BOUND
    return f"{max(0, int(limits.lower))}..{upper if is_bounded else ''}"
