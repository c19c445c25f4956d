"""Valid requests that are broken at random: each is refused by a problem, and by no other exception."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel

from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.notation import JsonNotation
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest, CheckColumnsRequest
from axiscast.messages.validation import find_problem, validate

Step = tuple[int | str, ...]
TENSOR = {"dtype": "float32", "shape": [3], "data": [1, 2, 3]}
TO = {"name": "numpy.broadcast_to", "shape": [2, 3]}
VALID: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (CheckRequest, {"op": "numpy.add", "inputs": [[3, 1], ["N", 4]], "assume": {"N": "2.."}, "explain": True}),
    (CheckRequest, {"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]], "dtype": "float32"}),
    (CheckRequest, {"op": {"name": "numpy.einsum", "equation": "ij,jk->ik"}, "inputs": [[3, 2], [2, 4]]}),
    (CompareRequest, {"inputs": [[3]], "shape": [2, 3], "ops": ["torch"], "warn": ["rank-promotion"]}),
    (TranslateRequest, {"op": TO, "inputs": [[3]], "to": "torch.expand"}),
    (BroadcastRequest, {"op": TO, "inputs": [TENSOR], "window": [[0, 2], [0, 3]]}),
    (BackpropRequest, {"op": TO, "inputs": [[3]], "gradients": [TENSOR]}),
    (CheckBatchRequest, {"requests": [{"inputs": [[3], [4]]}]}),
    (CheckColumnsRequest, {"op": "numpy.add", "inputs": [{"shape": [1, 2], "data": [[3, 1]]}] * 2}),
]
OTHERS = [None, True, -1, 3, 2.5, "", "*", "3,4", "N M", "torch.expand", [], [[3]], {}, {"shape": [3]}, {"name": 3}]
OTHERS += [{"nam": "torch.expand"}, ["torch.expand", {"size": [2]}], '{"name": "torch.expand"}']
NAMES = ["shapes", "shape", "size", "x", "po", "name", "op", "inputs", "data", "requests", "kwargs", "to"]


def places(value: Any, here: Step = ()) -> Iterator[Step]:
    """Yield the location of each part of a value."""
    if here:
        yield here
    for step, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*here, step))


def broken(request: dict[str, Any], chance: Random) -> Any:
    """Return a request in which one part has another form, another name or no value."""
    changed = deepcopy(request)
    *outer, step = chance.choice([*places(changed)])
    owner = changed
    for each in outer:
        owner = owner[each]
    part = owner.pop(step)
    forms = [*OTHERS, str(part), json.dumps(part), [part], {"a": part}, {"name": part}, {"shape": part}]
    if isinstance(owner, list):
        owner.insert(int(step), chance.choice(forms))
    elif chance.random() < 0.5:
        owner[chance.choice(NAMES)] = part
    elif chance.random() < 0.9:
        owner[step] = chance.choice(forms)
    return chance.choice([changed] * 9 + [[changed], json.dumps(changed)])


@pytest.mark.parametrize(("model", "request_"), VALID, ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_request_is_refused_by_a_problem_with_its_faults(
    model: type[BaseModel], request_: dict[str, Any]
) -> None:
    chance, refused = Random(model.__name__), 0
    for _ in range(160):
        sent = broken(request_, chance)
        while isinstance(sent, dict) and sent and chance.random() < 0.5:
            sent = broken(sent, chance)
        problem = find_problem(model, sent, JsonNotation())
        if problem is not None:
            assert problem.errors
            assert all(len(fault.detail) > 10 for fault in problem.errors)
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("name", [True, None, 3.5, [], {}, ["torch.expand"]], ids=str)
def test_the_name_of_an_op_must_be_a_string(name: Any) -> None:
    for op in ({"name": name}, {"name": name, "shape": [2, 3]}):
        problem = find_problem(CheckRequest, {"op": op, "inputs": [[3]]}, JsonNotation())
        assert problem is not None
        assert problem.errors[0].pointer == "/op"


@pytest.mark.parametrize(
    "op", [{"nam": "torch.expand"}, ["torch.expand", {}], '{"name": "torch.expand"}', "torch.expand"]
)
@pytest.mark.parametrize("attribute", ["size", "shape"])
def test_an_op_and_its_attribute_may_both_have_a_wrong_place(op: Any, attribute: str) -> None:
    for request in ({"po": op, "inputs": [[3]], attribute: [2, 3]}, {attribute: [2, 3], "inputs": [[3]], "po": op}):
        problem = find_problem(CheckRequest, request, JsonNotation())
        assert problem is not None
        assert problem.errors[0].pointer in ("/po", f"/{attribute}")


def test_the_map_in_a_list_is_written_without_the_list() -> None:
    request = {"inputs": [[3]], "shape": [2, 3]}
    problem = find_problem(CompareRequest, [request], JsonNotation())
    assert problem is not None
    assert problem.errors[0].detail == f"the body: must be a map, not a list: write {json.dumps(request)}"
    validate(CompareRequest, request)
