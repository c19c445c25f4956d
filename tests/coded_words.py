"""A pytest plugin that replaces every sentence about shapes by its code and values: pytest -p coded_words, in tests.

Tests assert facts. If a test fails with this plugin, it asserts a sentence, which belongs to tests/words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from axiscast.messages.findings import Finding
from axiscast.wire.shapes import format_shape
from axiscast.words.error_topics import Topic
from axiscast.words.operation_code import operation_code

SHOWN = (
    "client/test_client.py::test_every_docstring_example_of_the_client_prints_its_result",
    "endpoints/test_documents.py::test_the_openapi_document_has_the_response",
    "models/test_models_page.py",
    "project/test_drawings.py",
    "project/test_words.py",
    "test_library.py::test_each_public_function_has_a_correct_example",
)
"""Tests of documentation, whose examples show sentences."""
COMPARED = (
    "cli/test_cli.py::test_a_comparison_is_wrapped_and_colored_on_a_terminal",
    "cli/test_cli.py::test_a_command_in_its_own_process_prints_the_same",
)
"""Tests that compare the sentences of this process with those of a command in another process."""
SLOW = (
    "checks/test_batch.py::test_columns",
    "checks/test_hints.py::test_every_hint_of_every_vector",
    "checks/test_products.py::test_the_library_the_service",
    "checks/test_quiet.py",
    "checks/test_symbolic.py::test_a_symbolic_response_is_correct",
    "checks/test_warnings.py::test_every_hint",
    "checks/test_warnings.py::test_the_change_for_all_pairs",
    "cli/test_cli_models.py::test_each_of_many_nodes",
    "cli/test_cli_models.py::test_only_the_report",
    "explanation/test_error_log.py::test_a_long_log",
    "explanation/test_why.py::test_an_adversarial_text",
    "ops/test_from_plan.py",
    "ops/test_known_deviations.py",
    "ops/test_known_sizes.py",
    "ops/test_outputs.py",
    "ops/test_vectors.py",
    "training/test_pytest_plugin.py",
    "training/test_watching.py::test_the_number_of_reported_lines",
    "translation/test_translate_pairs.py",
)
"""Tests of many requests, which compare verdicts, shapes and times."""
MODULES = ("conditions", "conflicts", "errors", "hints", "warnings", "findings", "refusals")


def values_of(fact: Any) -> Iterator[str]:
    """Yield the values of a fact as text, without any words between them."""
    if isinstance(fact, str):
        yield fact
    elif isinstance(fact, Finding):
        yield operation_code(fact)
    elif isinstance(fact, Mapping):
        for name, value in fact.items():
            yield from () if name in ("message", "request") else values_of(value)
    elif isinstance(fact, list | tuple) and not hasattr(fact, "_fields"):
        if all(isinstance(size, int | str) for size in fact):
            yield format_shape(fact)
        for value in fact:
            yield from values_of(value)
    elif isinstance(fact, tuple):
        yield from values_of(fact._asdict())
    elif is_dataclass(fact):
        yield from values_of({field.name: getattr(fact, field.name) for field in fields(fact)})
    elif isinstance(fact, BaseModel):
        yield from values_of(fact.model_dump(exclude_unset=True))
    elif fact is not None:
        yield str(fact)


def code_of(name: str) -> Callable[..., str]:
    """Return a function that returns the code of a fact, or `name` if it has none, and the values of the fact."""

    def code(*facts: Any, **named: Any) -> str:
        first = facts[0] if facts else None
        found = first.get("code") if isinstance(first, Mapping) else getattr(first, "code", None)
        codes = getattr(first, "kinds", None) or [found or name]
        return " ".join([*codes, *values_of([*facts, *named.values()])])

    return code


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that show or compare sentences, and slow tests."""
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith((*SHOWN, *COMPARED, *SLOW)):
            item.add_marker(pytest.mark.skip("shows or compares sentences, or is slow"))


def replace_sentences(module: ModuleType) -> list[str]:
    """Replace all functions of a module that return sentences. Return their names."""
    names = [name for name, value in vars(module).items() if name.endswith("_text") and callable(value)]
    sentences = [
        name for name in names if not name.startswith("_") and vars(module)[name].__module__ == module.__name__
    ]
    for name in sentences:
        setattr(module, name, code_of(name))
    return sentences


REPLACED = [name for each in MODULES for name in replace_sentences(import_module(f"axiscast.words.{each}"))]


def replace_explanations() -> None:
    """Replace the explanations of topics by the code of the topic and the values of the message."""
    from axiscast.explanation import topic_search  # after the functions in MODULES are replaced
    from axiscast.explanation.wordings import read_value

    def explained(reading: Any, text: str) -> Topic:
        values = [str(read_value(kind, text[start:end])) for kind, start, end in reading.values]
        return Topic(code := reading.message[0].code, " ".join([code, *values]))

    topic_search._explained = explained  # type: ignore[attr-defined]


replace_explanations()
os.environ["SERVICE_IMPORTS"] = f"sys.path.append({str(Path(__file__).parent)!r}); import coded_words"
