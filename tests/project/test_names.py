"""Tests of the names in Python: help() for them, and suggestions for unknown names."""

from __future__ import annotations

import doctest
import pydoc
import sys
from typing import Any

import conftest
import pytest
from cases import cases
from test_cli import run

import axiscast
from axiscast.ops import ALIASES, FRAMEWORKS, OPS

MISSING = [
    (lambda: axiscast.brodcast_to, "module 'axiscast' has no attribute 'brodcast_to': did you mean broadcast_to"),
    (lambda: axiscast.chekc, "has no attribute 'chekc': did you mean check"),
    (lambda: axiscast.Cleint, "did you mean Client"),
    (lambda: axiscast.ngrpah, "did you mean ngraph?"),
    (lambda: axiscast.Broadcast3, "did you mean broadcast or broadcast_to or axiscast.openvino.Broadcast3?"),
    (lambda: axiscast.expand, "did you mean axiscast.onnx.Expand or axiscast.torch.expand or"),
    (lambda: axiscast.openvino.Broadcast_3,
     "module 'axiscast.ops.openvino' has no attribute 'Broadcast_3': did you mean Broadcast3 or Broadcast1?"),
    (lambda: getattr(axiscast.openvino, "Broadcast-1"), "did you mean Broadcast1?"),
    (lambda: axiscast.jax.lax, "has no attribute 'lax': did you mean broadcast or lax_add?"),
    (lambda: axiscast.jax.numpy, "did you mean broadcast_to or broadcast_arrays or broadcast_shapes or add?"),
    (lambda: axiscast.torch.Expand, "did you mean expand?"),
    (lambda: axiscast.torch.mul,
     "has no attribute 'mul', because torch.mul is an alias. Pass its name, as in check(\"torch.mul\", ...), or create "
     "axiscast.torch.add()"),
    (lambda: axiscast.torch.where, "or create axiscast.torch.broadcast_tensors()"),
    (lambda: axiscast.jax.maximum, "jax.numpy.maximum is an alias"),
    (lambda: axiscast.mindspore.ops, "has no attribute 'ops': its ops are"),
    (lambda: axiscast.np, "module 'axiscast' has no attribute 'np': did you mean numpy?"),
    (lambda: axiscast.jnp, "did you mean jax?"),
    (lambda: axiscast.tf, "did you mean tensorflow?"),
    (lambda: axiscast.mindspore.xyz, "has no attribute 'xyz': its ops are broadcast_to, add"),
]  # fmt: skip


@cases(("ask", "says"), MISSING, ids=[says[-50:] for _, says in MISSING])
def test_a_name_that_is_not_there_says_which_is(ask: Any, says: str) -> None:
    with pytest.raises(AttributeError) as caught:
        ask()
    assert says in str(caught.value)


def test_dir_of_a_framework_lists_its_ops_alone() -> None:
    assert dir(axiscast.openvino) == ["Add1", "Broadcast1", "Broadcast3", "Tile1"]
    for framework in FRAMEWORKS:
        module = getattr(axiscast, framework)
        listed = [getattr(module, name) for name in dir(module)]
        assert {op.model_fields["name"].default for op in listed} == {
            name for name in OPS if name.partition(".")[0] == framework
        }


def test_no_alias_is_an_attribute_of_another_kind() -> None:
    for alias in ALIASES:
        framework, _, rest = alias.partition(".")
        for name in {rest, rest.rpartition(".")[2]}:
            found = vars(getattr(axiscast, framework)).get(name, axiscast.numpy.add)
            assert isinstance(found, type(axiscast.numpy.add)), alias


@cases("name", OPS)
def test_help_of_an_op_shows_its_rule_its_attributes_and_an_example_that_is_true(name: str) -> None:
    kind = OPS[name]
    text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    assert len(text.splitlines()) < 90
    assert kind.__name__ in text
    assert name in text
    assert kind.link in text
    assert "pydantic_" not in text
    assert "model_" not in text
    for attribute, field in kind.model_fields.items():
        if attribute != "name":
            assert f"{attribute} ({'required' if field.is_required() else 'default'}" in text
            assert str(field.description).rstrip(".").split("\n")[0] in text
    (example,) = doctest.DocTestParser().get_examples(kind.__doc__)
    assert doctest.DocTestRunner().run(
        doctest.DocTest([example], {"axiscast": axiscast}, name, None, 0, kind.__doc__)
    ) == (0, 1)


def test_help_shows_each_mode_of_an_op_with_its_rule() -> None:
    text = pydoc.render_doc(axiscast.openvino.Broadcast3, renderer=pydoc.plaintext)
    assert "mode (default 'numpy')" in text
    assert "One of 'numpy', 'explicit', 'bidirectional'." in text
    assert "explicit       input axis `i` maps to output axis `axes_mapping[i]`" in text
    assert "Broadcast3(*, target_shape, mode='numpy', axes_mapping=None)" in text


def test_the_catalogue_and_the_schemas_have_the_rule_alone() -> None:
    from axiscast.catalogue import list_ops

    for entry in list_ops().ops:
        assert "\n" not in entry.doc
        assert "Attributes:" not in OPS[entry.name].model_json_schema()["description"]


@cases(
    ("name", "call"),
    [
        ("openvino.Broadcast-3", "axiscast.openvino.Broadcast3(target_shape=(2, 1), mode='bidirectional')"),
        ("jax.lax.add", "axiscast.jax.lax_add()"),
        ("torch.expand", "axiscast.torch.expand(size=(3, -1))"),
    ],
)
def test_the_command_line_says_an_ops_name_in_python(name: str, call: str) -> None:
    assert f"  {call}\n" in run("ops", name).stdout


@cases(
    ("alias", "said"),
    [("np.where", "np.where is an alias of numpy.where"), ("jnp.maximum", "jnp.maximum is an alias of jax.numpy.add")],
)
def test_the_command_line_says_that_a_name_is_an_alias(alias: str, said: str) -> None:
    assert f"  {said}\n" in run("ops", alias).stdout
    assert "alias" not in run("ops", "numpy.add").stdout


def test_all_that_it_says_is_the_op() -> None:
    for name in OPS:
        call = run("ops", name).stdout.splitlines()[-1].strip()
        assert eval(call, {"axiscast": axiscast}).name == name


def test_help_of_an_op_works_without_docstrings() -> None:
    code = "import axiscast\nprint('axiscast.numpy.add()' in axiscast.numpy.add.__doc__)"
    assert conftest.run([sys.executable, "-OO", "-c", code]).stdout == "True\n"


def test_a_missing_name_loads_no_service() -> None:
    code = "import sys, axiscast\nhasattr(axiscast, 'chekc')\nprint('fastapi' in sys.modules)"
    assert conftest.run([sys.executable, "-c", code]).stdout == "False\n"
