"""Python names, signatures and help() texts for ops, and suggestions for unknown names."""

from collections.abc import Mapping
from inspect import Parameter, Signature, cleandoc
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..wire.wording import close_matches, did_you_mean


def python_name(kind: type[BaseModel]) -> str:
    """Return the Python name of an op class, such as ``axiscast.openvino.Broadcast3``."""
    return f"axiscast.{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def as_call(kind: type[BaseModel], attributes: Mapping[str, Any]) -> str:
    """Return the source code that creates an op of this class. Missing required attributes get example values."""
    given = {name: value for name, value in attributes.items() if name in kind.model_fields and name != "name"}
    written = ", ".join(f"{name}={literal(value):.200}" for name, value in {**required_examples(kind), **given}.items())
    return f"{python_name(kind)}({written})"


def required_examples(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the first example of each required attribute."""
    fields = kind.model_fields.items()
    return {name: field.examples[0] for name, field in fields if field.is_required() and field.examples}


def literal(value: Any) -> str:
    """Return an attribute's value as Python source code. A list is written as a tuple."""
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def signature(kind: type[BaseModel]) -> Signature:
    """Return the signature of an op class, in which the attributes are keyword-only parameters."""
    parameters = []
    for name, field in kind.model_fields.items():
        if name != "name":
            default = Parameter.empty if field.is_required() else field.default
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    required = [one for one in parameters if one.default is Parameter.empty]
    return Signature([*required, *(one for one in parameters if one.default is not Parameter.empty)])


def documentation(kind: Any, docstring: str, rules: str) -> str:
    """Return the help() text for an op class: its rule, its attributes, an example and links.

    `rules` is the docstring of the framework's file.
    """
    lines = [cleandoc(docstring), ""]
    attributes = {name: field for name, field in kind.model_fields.items() if name != "name"}
    lines += ["Attributes:"] if attributes else ["The op has no attributes."]
    lines += [f"    {name} ({_default(field)}): {_described(field)}" for name, field in attributes.items()]
    op, shapes = kind.example()
    written = ", ".join([as_call(kind, op.model_dump(exclude_defaults=True)), *map(repr, shapes)])
    lines += ["", "Example:", f"    >>> axiscast.check({written}).compatible", "    True", ""]
    lines += [f"Name in requests and on the command line: {op.name}", f"Documentation: {kind.link}", ""]
    framework = kind.__module__.rpartition(".")[2]
    return "\n".join([*lines, f"The rules of {framework}:", "", cleandoc(rules)])


def _default(field: FieldInfo) -> str:
    return "required" if field.is_required() else f"default {literal(field.default)}"


def _described(field: FieldInfo) -> str:
    choices = [value for value in get_args(field.annotation) if isinstance(value, str)]
    if choices:
        examples = f" One of {', '.join(map(repr, choices))}."
    else:
        examples = f" For example {literal(field.examples[0])}." if field.examples else ""
    return f"{(field.description or '').rstrip('.')}.{examples}"


def missing(module: str, name: str, ops: Mapping[str, str], aliases: Mapping[str, type[BaseModel]]) -> AttributeError:
    """Return the AttributeError for an unknown name in a framework's module, with suggestions.

    `ops` maps each op's name in requests to the name of its class. `aliases` maps each alias in the module to its rule.
    """
    framework = module.rpartition(".")[2]
    alias = next((alias for alias in aliases if alias in (f"{framework}.{name}", f"{framework}.numpy.{name}")), None)
    if alias is not None:
        return AttributeError(
            f"module {module!r} has no attribute {name!r}, because {alias} is an alias. Pass its name, as in "
            f'check("{alias}", ...), or create {as_call(aliases[alias], {})}'
        )
    if name.startswith("__"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    like = [op for key, op in ops.items() if op.startswith(f"{name}_") or op.endswith(f"_{name}") or f".{name}." in key]
    by_name = {own: own for own in ops.values()} | {wire.partition(".")[2]: own for wire, own in ops.items()}
    close = list(dict.fromkeys(by_name[found] for found in close_matches(name, by_name)))
    there = did_you_mean((like or close)[:4]) or f": its ops are {', '.join(ops.values())}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{there}")
