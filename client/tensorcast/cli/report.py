"""tensorcast check model.onnx: node by node, what does not broadcast, or depends on sizes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..messages import CheckAnswer
from ..schema.shapes import format_shape
from .answers import answers_from, colored
from .model import UnusableModel, read
from .nodes import Node, nodes

_BATCH_SIZES = 10_000
"""Sizes in the requests of one batch: some thousand nodes, far within what a service takes at once."""
_LETTERS = 200
"""Letters of a name, or of why a node is not judged, that are shown."""

Request = dict[str, Any]
Verdict = CheckAnswer | str
"""What is known of a node: the answer, or why it is not judged."""


def report(path: Path, assume: Mapping[str, int | str], url: str | None, as_json: bool, all_nodes: bool) -> bool:
    """Print what is to be said of a model: whether each node broadcasts, for some sizes at least."""
    try:
        model = read(path)
    except UnusableModel as why:
        raise click.UsageError(f"{_printable(str(path))} {why}") from None
    found = list(nodes(model))
    verdicts = _verdicts(found, assume, url)
    counts = {"nodes": len(found), "compatible": 0, "depends": 0, "incompatible": 0, "not_judged": 0}
    for verdict in verdicts:
        counts[_kind(verdict)] += 1
    if as_json:
        listed = [_as_json(node, verdict) for node, verdict in zip(found, verdicts, strict=True)]
        click.echo(json.dumps({"nodes": listed, "counts": counts, "inference_error": model.error or None}))
    else:
        for node, verdict in zip(found, verdicts, strict=True):
            if all_nodes or _kind(verdict) in ("depends", "incompatible"):
                click.echo(_as_text(node, verdict))
        click.echo(
            f"nodes that broadcast: {counts['nodes']} ({counts['compatible']} compatible, "
            f"{counts['depends']} depending on sizes, {counts['incompatible']} incompatible, "
            f"{counts['not_judged']} not judged)"
        )
        if counts["not_judged"] and model.error:
            click.echo(f"onnx can't infer shapes from {model.error}")
    return not counts["incompatible"]


def _kind(verdict: Verdict) -> str:
    if isinstance(verdict, str):
        return "not_judged"
    return "depends" if verdict.compatible is None else "compatible" if verdict.compatible else "incompatible"


def _verdicts(found: Sequence[Node], assume: Mapping[str, int | str], url: str | None) -> list[Verdict]:
    """What is known of each node, in order."""
    requests = [dict(node.question) for node in found if node.question is not None]
    names = [_names(request) for request in requests]
    for name in assume:
        if name not in (in_model := set().union(*names)):
            there = f"the names are {', '.join(sorted(in_model)[:20])}" if in_model else "none has a name"
            raise click.UsageError(f"--assume {name}: no size of the model has this name: {there}")
    for request, own in zip(requests, names, strict=True):
        if here := {name: size for name, size in assume.items() if name in own}:
            request["assume"] = here
    # A model asks the same again and again.
    keys = [json.dumps(request) for request in requests]
    different = dict(zip(keys, requests, strict=True))
    answers = dict(zip(different, _answers(list(different.values()), url), strict=True))
    own_key = iter(keys)
    return [node.reason if node.question is None else answers[next(own_key)] for node in found]


def _sizes(request: Request) -> Iterator[int | str]:
    for shape in (*request["inputs"], request["op"].get("shape", ())):
        yield from shape


def _names(request: Request) -> set[str]:
    return {size for size in _sizes(request) if isinstance(size, str) and size != "?"}


def _answers(requests: Sequence[Request], url: str | None) -> Iterator[Verdict]:
    """The answer to each request, from here or from a service, or what is wrong with it."""
    with answers_from(url) as way:
        for batch in _batches(requests):
            for answer in way.check_batch(batch):
                yield answer if isinstance(answer, CheckAnswer) else answer.detail


def _batches(requests: Sequence[Request]) -> Iterator[list[Request]]:
    batch: list[Request] = []
    room = _BATCH_SIZES
    for request in requests:
        count = 1 + len(list(_sizes(request)))
        if batch and count > room:
            yield batch
            batch, room = [], _BATCH_SIZES
        batch.append(request)
        room -= count
    if batch:
        yield batch


def _as_json(node: Node, verdict: Verdict) -> dict[str, Any]:
    result = {"reason": verdict} if isinstance(verdict, str) else {"answer": verdict.model_dump(exclude_unset=True)}
    inputs = [value._asdict() for value in node.values]
    return {"node": node.name, "op_type": node.op_type, "verdict": _kind(verdict), "inputs": inputs, **result}


def _as_text(node: Node, verdict: Verdict) -> str:
    lines = [f"{node.op_type} {_printable(node.name)}"]
    width = max((len(value.role) for value in node.values), default=0)
    names = [_printable(value.name) for value in node.values]
    widest = max(map(len, names), default=0)
    for value, name in zip(node.values, names, strict=True):
        shape = "unknown rank" if value.shape is None else format_shape(value.shape)
        lines.append(f"{value.role:{width}}  {name:{widest}}  {shape}")
    if isinstance(verdict, str):
        lines.append(f"not judged: {_printable(verdict)}")
    else:
        shown = verdict.model_copy(update={"warnings": []})  # stretching and new axes are what a model does all day
        if shown.conflict is not None and not node.is_mutual:
            # Its hints name other ops, and ONNX has none but this.
            shown.conflict = shown.conflict.model_copy(update={"hints": []})
        lines += colored(shown).splitlines()
    return "\n  ".join(lines) + "\n"


def _printable(name: str) -> str:
    """A name of the file that can't steer a terminal, its end left out where it is long."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:_LETTERS])
    return shown if len(name) <= _LETTERS else f"{shown}..."
