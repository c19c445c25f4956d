"""The public interface as a list of facts, one for each line of public_interface.txt.

    python tests/project/public_interface.py        (make interface)

It writes the file again, and prints the changes. docs/versions.md says what is public.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import click
import httpx
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel

import axiscast
from axiscast.cli import main as command_line
from axiscast.cli.arguments import OpCommand
from axiscast.ops import ALIASES, FRAMEWORKS, OPS
from axiscast.wire.problems import PROBLEM_KINDS
from axiscast_service.app import create_app
from axiscast_service.settings import Settings, variable_of

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_suffix(".txt")
REQUIRES = " requires "
"""The verb of a fact about something that a user must pass. Such a fact may go, but must not be added."""
_METHODS = ("get", "post")
_PATHS = (
    "/",
    "/docs",
    "/ops",
    "/openapi.json",
    "/livez",
    "/readyz",
    "/problems/incompatible-shapes",
    "/v1/ops",
    "/none",
)
"""Paths whose status is part of the interface. Requests to them also set the labels of the metrics."""


def facts() -> list[str]:
    """Return all facts about the public interface, sorted."""
    app = create_app(Settings(allowed_hosts="*"))
    found = {*python_facts(), *op_facts(), *http_facts(app.openapi()), *service_facts(app)}
    found |= {*command_facts("axiscast", command_line), *exit_status_facts()}
    found |= {f"problem {code}: {kind.status}" for code, kind in PROBLEM_KINDS.items()}
    for setting in fields(Settings):
        found.add(f"setting {variable_of(setting.name)}: {setting.type}")
        found |= {f"setting {variable_of(setting.name)} value {value}" for value in setting.metadata["choices"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found |= {f"extra {name}" for name in project["optional-dependencies"] if name not in ("dev", "docs", "fuzz")}
    return sorted(found)


def python_facts() -> Iterator[str]:
    for name in [*axiscast.__all__, "__version__"]:
        value = getattr(axiscast, name)
        yield f"python {name}"
        if inspect.isfunction(value):
            yield from signature_facts(name, value)
        elif inspect.isclass(value):
            yield from class_facts(name, value)


def class_facts(name: str, kind: type) -> Iterator[str]:
    """Yield the public bases, the members and the fields of a class, without those of pydantic and of Python."""
    for base in kind.__mro__[1:]:
        if base is not object and (base.__module__ == "builtins" or base.__name__ in axiscast.__all__):
            yield f"python {name} is {base.__name__}"
    own = [base for base in kind.__mro__ if base.__module__.startswith("axiscast")]
    if not issubclass(kind, (BaseModel, tuple)) and inspect.isfunction(kind.__init__):
        yield from signature_facts(name, kind.__init__)
    for base in own:
        for member, value in vars(base).items():
            if member.startswith(("_", "model_")):
                continue
            function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            yield f"python {name}.{member}"
            if inspect.isfunction(function):
                yield from signature_facts(f"{name}.{member}", function)
        for member in inspect.get_annotations(base):
            if not member.startswith("_") and member != "model_config":
                yield f"python {name}.{member}"


def signature_facts(name: str, function: Any) -> Iterator[str]:
    """Yield the parameters of a function by name, or by position if they have no name for callers."""
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.name.startswith("_") or parameter.name == "self":
            continue
        kind = parameter.kind.description.replace(" or keyword", f" {position}")
        yield f"python {name}({parameter.name}): {kind}"
        if parameter.default is None or isinstance(parameter.default, (bool, int, float, str)):
            yield f"python {name}({parameter.name}={parameter.default!r})"
        elif parameter.default is parameter.empty and not kind.startswith("variadic"):
            yield f"python {name}{REQUIRES}{parameter.name}"


def op_facts() -> Iterator[str]:
    for framework in FRAMEWORKS:
        for name in dir(getattr(axiscast, framework)):
            kind = getattr(getattr(axiscast, framework), name)
            op = f"op {kind.model_fields['name'].default}"
            yield op
            yield f"{op}: axiscast.{framework}.{name}"
            for attribute, field in kind.model_fields.items():
                if attribute != "name":
                    yield f"{op}.{attribute}"
                    if field.is_required():
                        yield f"{op}{REQUIRES}{attribute}"
    for alias in ALIASES:
        yield f"alias {alias}"


def http_facts(document: dict[str, Any]) -> Iterator[str]:
    """Yield the operations of an OpenAPI document, and the fields of all schemas, by the direction of use."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method in [method for method in _METHODS if method in operations]:
            subject, operation = f"http {method.upper()} {path}", operations[method]
            yield subject
            for parameter in operation.get("parameters", []):
                place = f"{parameter['in']} {parameter['name']}"
                yield f"{subject} {place}"
                yield from (f"{subject} {place}: {kind}" for kind in kinds(parameter["schema"]))
                if parameter.get("required"):
                    yield f"{subject}{REQUIRES}{place}"
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{subject} request {media}"
                yield from schema_facts(f"{subject} request", content["schema"], schemas, set(), is_request=True)
            for status, response in operation["responses"].items():
                yield f"{subject} response {status}"
                for media, content in response.get("content", {}).items() if status == "200" else ():
                    yield f"{subject} response {status} {media}"
                    place = f"{subject} response"
                    yield from schema_facts(place, content.get("schema", {}), schemas, set(), is_request=False)


def schema_facts(
    place: str, schema: dict[str, Any], schemas: dict[str, Any], seen: set[str], *, is_request: bool
) -> Iterator[str]:
    """Yield the fields of a schema and of all schemas in it. A schema with a name is listed by its name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen and not name.startswith("OpWith"):  # op_facts lists the attributes of each op
            seen.add(name)
            place = f"http {'request' if is_request else 'response'} {name}"
            yield from schema_facts(place, schemas[name], schemas, seen, is_request=is_request)
        return
    if "properties" in schema:
        yield place
    for name, field in schema.get("properties", {}).items():
        yield f"{place}.{name}"
        for kind in kinds(field):
            yield f"{place}.{name}: {kind}"
        if name in schema.get("required", []):
            yield f"{place}{REQUIRES}{name}" if is_request else f"{place}.{name}: always present"
        yield from schema_facts(f"{place}.{name}", field, schemas, seen, is_request=is_request)
    for inner in inner_schemas(schema):
        yield from schema_facts(place, inner, schemas, seen, is_request=is_request)


def inner_schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from schema.get(keyword, [])
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]


def kinds(schema: dict[str, Any]) -> set[str]:
    """Return the alternatives of a schema: the names of types, and the values of an enumeration."""
    if "$ref" in schema:
        return {schema["$ref"].rpartition("/")[2]}
    if "const" in schema or "enum" in schema:
        return {repr(value) for value in schema.get("enum", [schema.get("const")]) if value not in OPS}
    alternatives = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if alternatives:
        return {kind for alternative in alternatives for kind in kinds(alternative)}
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict):
        return {f"array of {kind}" for kind in kinds(items)}
    return {str(schema.get("type", "any"))}


def service_facts(app: Any) -> Iterator[str]:
    """Yield the pages and probes, and the service's own metrics with their types and labels."""
    statuses: dict[str, int] = {}

    async def scrape() -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for path in _PATHS:
                statuses[path] = (await client.get(path)).status_code
            return (await client.get("/metrics")).text

    text = anyio.run(scrape)
    yield from (f"path {path}: {status}" for path, status in statuses.items())
    for family in text_string_to_metric_families(text):
        if family.name.startswith(("axiscast_", "http_")):
            yield f"metric {family.name}: {family.type}"
            for label in {label for sample in family.samples for label in sample.labels} - {"le", "pid"}:
                yield f"metric {family.name} label {label}"


def command_facts(name: str, command: click.Command) -> Iterator[str]:
    yield f"command {name}"
    if isinstance(command, OpCommand):
        command.add_attribute_options()
    for parameter in command.params:
        kind = parameter.type.name if not getattr(parameter, "is_flag", False) else "flag"
        written = parameter.opts + parameter.secondary_opts
        for option in written if isinstance(parameter, click.Option) else [parameter.name]:
            yield f"command {name} {option}: {kind}"
            for value in getattr(parameter.type, "choices", []):
                yield f"command {name} {option} value {value}"
            if parameter.required:
                yield f"command {name}{REQUIRES}{parameter.name}"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            assert inner is not None
            yield from command_facts(f"{name} {part}", inner)


def exit_status_facts() -> Iterator[str]:
    """Yield the documented exit statuses, and those of the commands that tests/cli/test_exit_statuses.py runs."""
    page = (ROOT / "docs/operations.md").read_text().partition("## Exit statuses")[2].partition("\n## ")[0]
    yield from (f"exit status {number}" for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE))
    tested = (ROOT / "tests/cli/test_exit_statuses.py").read_text().partition("STATUSES = {")[2].partition("\n}")[0]
    yield from (f"exit status of axiscast {line}: {number}" for line, number in re.findall(r'"(.*)": (\d+),', tested))


def breaking(old: set[str], new: set[str]) -> list[str]:
    """Return the changes that break users: what is gone, and what existing users must pass or expect in addition."""
    gone = {fact for fact in old - new if REQUIRES not in fact}
    needed = {fact for fact in new - old if REQUIRES in fact and fact.partition(REQUIRES)[0] in old}
    null = {fact for fact in new - old if re.fullmatch("http response .*: null", fact) and fact[:-6] in old}
    return sorted([f"- {fact}" for fact in gone] + [f"+ {fact}" for fact in needed | null])


def read_snapshot() -> set[str]:
    """Return the facts of the snapshot, which has the aliases of each framework on one line."""
    facts = set()
    for line in SNAPSHOT.read_text().splitlines():
        framework, _, names = line.removeprefix("aliases ").partition(": ")
        facts |= {f"alias {framework}.{name}" for name in names.split()} if line.startswith("aliases ") else {line}
    return facts


def snapshot_of(facts: list[str]) -> str:
    """Return the text of the snapshot that has these facts."""
    aliases: dict[str, list[str]] = {}
    for fact in facts:
        if fact.startswith("alias "):
            framework, _, name = fact.removeprefix("alias ").partition(".")
            aliases.setdefault(framework, []).append(name)
    lines = [f"aliases {framework}: {' '.join(names)}" for framework, names in aliases.items()]
    lines += [fact for fact in facts if not fact.startswith("alias ")]
    return "\n".join(lines) + "\n"


def main() -> None:
    new = facts()
    old = read_snapshot() if SNAPSHOT.exists() else {*new}
    SNAPSHOT.write_text(snapshot_of(new))
    changes = breaking(old, {*new})
    print(f"{len({*new} - old)} additions, {len(changes)} breaking changes", *changes, sep="\n")
    if changes:
        print("Note the breaking changes in CHANGELOG.md, under Changed or Removed.")


if __name__ == "__main__":
    sys.exit(main())
