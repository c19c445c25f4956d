"""The findings of watch on a fake torch, and on torch itself if it is installed (`make models`)."""

from __future__ import annotations

import pickle
import sys
import threading
import warnings
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import fake_torch
import numpy as np
import pytest

import axiscast
from axiscast.training import torch_ops, watching
from axiscast.words.findings import finding_text
from axiscast.words.operation_code import operation_code

pytest_plugins = ["watched_torch"]

SUSPICIOUS = {
    "a function that reduces what it broadcasts": lambda torch, x, column: torch.cosine_similarity(x, column),
    "by its own keywords": lambda torch, x, column: torch.cosine_similarity(x1=x, x2=column),
    "a mask": lambda torch, x, column: torch.masked_scatter(column, x == x, torch.ones(25)),
    "lists": lambda torch, x, column: torch._foreach_add([x, x], [x, column]),
    "lists by keyword": lambda torch, x, column: torch._foreach_add([x], other=[column]),
    "an operator": lambda torch, x, column: x - column,
    "in the other order": lambda torch, x, column: column + x,
    "a comparison": lambda torch, x, column: x == column,
    "a function": lambda torch, x, column: torch.add(x, column),
    "keyword operands": lambda torch, x, column: torch.add(input=x, other=column),
    "one of three operands": lambda torch, x, column: torch.where(x == x, x, column),
    "beside a number": lambda torch, x, column: torch.where(column == column, x, 1.0),
    "a method": lambda torch, x, column: x.max(column),
    "a loss": lambda torch, x, column: torch.nn.functional.mse_loss(column, x),
    "a loss by keyword": lambda torch, x, column: torch.nn.functional.mse_loss(column, target=x),
    "a loss of what is written out": lambda torch, x, column: torch.nn.functional.mse_loss(x[:, None], x),
    "an axis written out for what is no operand": lambda torch, x, column: (x[:, None] - x[:, None].T, x - column)[1],
    "None on an earlier line": lambda torch, x, column: later(torch.ones(5)[:, None], x),
    "unsqueeze on an earlier line": lambda torch, x, column: later(torch.ones(5).unsqueeze(1), x),
    "unsqueeze of another tensor": lambda torch, x, column: x / torch.ones(5).unsqueeze(1),
    "view of another tensor": lambda torch, x, column: torch.ones(5).view(-1, 1) - x,
    "keepdim": lambda torch, x, column: torch.ones(5, 3).sum(1, keepdim=True) - x,
    "keepdim by place": lambda torch, x, column: torch.ones(5, 3).sum(1, True) - x,
    "keepdim of two results": lambda torch, x, column: torch.ones(5, 3).max(1, keepdim=True)[0] - x,
    "a comparison with keepdim": lambda torch, x, column: torch.ones(5, 3).sum(1, True) == x,
    "a range and a column": lambda torch, x, column: column - torch.arange(5),
    "another tensor of an argument": lambda torch, x, column: later(x[:, None], torch.ones(5)),
}


def later(one: Any, other: Any) -> Any:
    return one - other


SILENT = {
    "None": lambda torch, x, column: x[:, None] - x,
    "unsqueeze": lambda torch, x, column: x.unsqueeze(1) - x,
    "torch.unsqueeze": lambda torch, x, column: torch.unsqueeze(x, 1) - x,
    "unsqueeze by keyword": lambda torch, x, column: torch.unsqueeze(input=x, dim=1) - x,
    "what is kept by keyword": lambda torch, x, column: torch.add(input=x[:, None], other=1) - x,
    "a slice of a range": lambda torch, x, column: later(torch.arange(9)[:5][:, None], torch.arange(9)[:5]),
    "view": lambda torch, x, column: x.view(-1, 1) - x,
    "reshape": lambda torch, x, column: x - x.reshape(5, 1),
    "None, then a number and a cast": lambda torch, x, column: -(x[:, None] * 2).double() - x,
    "the same tensor, on an earlier line": lambda torch, x, column: later(x.unsqueeze(1), x),
    "None of another tensor": lambda torch, x, column: torch.ones(5)[:, None] * x,
    "None of another tensor, after a function": lambda torch, x, column: -torch.ones(5)[:, None].double() * x,
    "None of another tensor, over lines": lambda torch, x, column: torch.add(torch.ones(5)[:, None], x),
    "a comparison with unsqueeze": lambda torch, x, column: torch.ones(5).unsqueeze(1) >= x,
    "ranges": lambda torch, x, column: later(torch.arange(5).unsqueeze(1), torch.arange(5)),
    "a range and unsqueeze": lambda torch, x, column: x.unsqueeze(1) - torch.arange(5),
    "a choice between pairs": lambda torch, x, column: torch.where(torch.ones(5, 5) == 1, x, column),
    "a row turned": lambda torch, x, column: x[None].T - x,
    "both axes": lambda torch, x, column: x[:, None] - x[None],
    "equal shapes": lambda torch, x, column: column - column,
    "a number": lambda torch, x, column: column - 1,
    "one value": lambda torch, x, column: torch.ones(1) - column,
    "no axes": lambda torch, x, column: torch.ones(()) - column,
    "a bias": lambda torch, x, column: torch.ones(2, 5) + x,
    "other sizes": lambda torch, x, column: torch.ones(4) - column,
    "what a mask takes from": lambda torch, x, column: torch.masked_scatter(column, column == column, x),
    "lists of equal shapes": lambda torch, x, column: torch._foreach_add([x, column], [x, column]),
    "matmul": lambda torch, x, column: torch.ones(5, 5) @ column,
}


@pytest.mark.filterwarnings("ignore:Using a target size")  # torch's warning about some losses
@pytest.mark.parametrize("bug", SUSPICIOUS.values(), ids=SUSPICIOUS)
def test_a_square_is_found_at_its_line(torch: Any, bug: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    with axiscast.watch(on=lambda finding: None) as seen:
        bug(torch, x, column)
    (finding,) = seen.findings
    lines = {function.__code__.co_firstlineno + (function is later) for function in (bug, later)}
    assert (finding.file, finding.line in lines) == (__file__, True)
    assert (finding.output, finding.kinds) == ((5, 5), ("square",))


@pytest.mark.parametrize("meant", SILENT.values(), ids=SILENT)
def test_explicit_pairs_and_other_broadcasts_are_not_reported(torch: Any, meant: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    with axiscast.watch(on="error") as seen:
        meant(torch, x, column)
    assert seen.findings == []


def is_fake(torch: Any) -> bool:
    """Return whether this is the stand-in for torch, whose tensors no code but the watch recognizes."""
    return "fake_torch" in torch.__file__


@pytest.mark.skipif(not find_spec("torch"), reason="no torch")
def test_the_operands_have_their_names_in_the_source_code() -> None:
    import torch

    model, batch = torch.nn.Linear(3, 1), SimpleNamespace(y=torch.ones(8))
    x, y, loss = torch.ones(8, 3), torch.ones(8), torch.nn.MSELoss()
    with warnings.catch_warnings(), axiscast.watch(on=lambda finding: None) as seen:
        warnings.simplefilter("ignore")
        model(x) - batch.y
        loss(model(x), y)
        2 * model(x) - y
        y.sub(model(x))
        torch.nn.functional.mse_loss(target=y, input=model(x))
        torch.nn.functional.mse_loss(target=model(x), input=model(x)[:, 0] * y)
    names = [tuple(operand.name for operand in finding.operands) for finding in seen.findings]
    assert names == [
        ("model(x)", "batch.y"), ("model(x)", "y"), ("(2 * model(x))", "y"), ("y", "model(x)"), ("", ""), ("", ""),
    ]  # fmt: skip


def test_a_warning_is_at_the_line_and_is_given_once(torch: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    with warnings.catch_warnings(record=True) as said, axiscast.watch() as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            x - column
    (warning,) = said
    assert warning.category is axiscast.SuspiciousBroadcast
    assert (warning.filename, warning.lineno) == (__file__, seen.findings[0].line)
    a, b = ("a", "b") if is_fake(torch) else ("x", "column")
    assert operation_code(seen.findings[0]) == f"{a} (5,) - {b} (5, 1)"
    assert str(warning.message) == f"torch.sub: {finding_text(seen.findings[0])}"


def test_an_error_is_raised_each_time_before_the_operation_is_executed(torch: Any) -> None:
    x, column, done = torch.ones(5), torch.ones(5, 1), []
    with axiscast.watch(on="error") as seen:
        for _ in range(3):
            with pytest.raises(axiscast.SuspiciousBroadcast) as raised:
                done.append(x - column)
    assert (done, seen.findings) == ([], [raised.value.finding])
    copy = pickle.loads(pickle.dumps(raised.value))  # a warning from another process
    assert (str(copy), copy.finding) == (str(raised.value), raised.value.finding)
    done.append(x - column)  # the watch has ended
    assert len(done) == 1


def test_an_exception_of_a_callback_is_raised_and_the_watch_continues(torch: Any) -> None:
    x, column, told = torch.ones(5), torch.ones(5, 1), []

    def stop(finding: Any) -> None:
        told.append(finding)
        x - column  # in the callback, which is not watched
        raise KeyError(finding.line)

    with axiscast.watch(on=stop) as seen:
        with pytest.raises(KeyError):
            x - column
        with pytest.raises(KeyError):
            x + column
    assert seen.findings == told
    assert len(told) == 2


def test_watches_can_be_nested(torch: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    with axiscast.watch(on=lambda finding: None) as outer:
        with axiscast.watch(on=lambda finding: None) as inner:
            x - column
        x + column
        with pytest.raises(axiscast.SuspiciousBroadcast), axiscast.watch(on="error"):
            x * column
    assert [finding.op for finding in inner.findings] == ["torch.sub"]
    assert [finding.op for finding in outer.findings] == ["torch.sub", "torch.add"]


def test_a_watch_is_entered_once_at_a_time_and_can_be_entered_again(torch: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    watch = axiscast.watch(on=lambda finding: None)
    with watch, pytest.raises(RuntimeError, match="already entered"):
        watch.__enter__()
    with watch as seen:
        x - column
    assert len(seen.findings) == 1


def test_another_thread_is_watched_only_by_its_own_watch(torch: Any) -> None:
    x, column, found = torch.ones(5), torch.ones(5, 1), []

    def work() -> None:
        x - column
        with axiscast.watch(on=found.append):
            x + column

    with axiscast.watch(on="error") as seen:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen.findings == []
    assert [finding.op for finding in found] == ["torch.add"]


def test_a_dead_tensor_does_not_make_pairs_of_another_one_intended(torch: Any) -> None:
    x, seen_again = torch.ones(5), 0
    with axiscast.watch(on=lambda finding: None) as seen:
        for _ in range(50):
            gone = x[:, None]
            key = id(gone)
            del gone
            column = torch.ones(5, 1)
            seen_again += id(column) == key
            seen._finding_at.clear()
            x - column
            del column
    assert len(seen.findings) == 50
    if torch.__file__.startswith("/nowhere"):
        assert seen_again  # otherwise this test shows nothing


def test_a_function_without_a_hash_is_called(torch: Any) -> None:
    class Same:
        def __eq__(self, other: object) -> bool:
            return True

        def __call__(self, x: Any) -> Any:
            return x.shape

    with axiscast.watch():
        assert torch.overrides.handle_torch_function(Same(), (), torch.ones(5)) == (5,)


def test_records_of_dead_tensors_are_removed(torch: Any) -> None:
    x = torch.ones(5)
    with axiscast.watch(on=lambda finding: None) as seen:
        for _ in range(5000):
            x[:, None]
        kept = [x[:, None] for _ in range(2000)]
        assert len(kept) <= len(seen._mode.origins.records) <= 5000


def test_the_number_of_reported_lines_is_bounded(torch: Any) -> None:
    lines = "\n".join(["x - column"] * 1200)
    with axiscast.watch(on=lambda finding: None) as seen:
        exec(compile(lines, "generated.py", "exec"), {"x": torch.ones(5), "column": torch.ones(5, 1)})
    assert [finding.line for finding in seen.findings] == [*range(1, 1001)]


def test_a_line_of_an_installed_package_is_reported_at_the_line_that_calls_it(torch: Any) -> None:
    scope: dict[str, Any] = {}
    exec(compile("def loss(x, y):\n    return x - y", "/usr/lib/site-packages/losses.py", "exec"), scope)
    with axiscast.watch(on=lambda finding: None) as seen:
        scope["loss"](torch.ones(5), torch.ones(5, 1)); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
    (finding,) = seen.findings
    assert (finding.file, finding.line) == (__file__, line)


def test_other_kinds_are_reported_on_request(torch: Any) -> None:
    row, column = torch.ones(1, 4), torch.ones(3, 1)
    with axiscast.watch(on="error"):
        row - column
    with axiscast.watch(on=lambda finding: None, kinds=("square", "mutual-stretch")) as seen:
        row - column
        torch.ones(5) - torch.ones(5, 1)
    assert [finding.output for finding in seen.findings] == [(3, 4), (5, 5)]
    codes = [[warning.code for warning in finding.answer.warnings] for finding in seen.findings]
    assert codes == [["mutual-stretch"], ["square"]]
    with axiscast.watch(on="error", kinds=["mutual-stretch"]), pytest.raises(axiscast.SuspiciousBroadcast) as raised:
        row - column
    a, b = ("a", "b") if is_fake(torch) else ("row", "column")
    found = raised.value.finding
    assert (operation_code(found), found.kinds) == (f"{a} (1, 4) - {b} (3, 1)", ("mutual-stretch",))
    assert str(raised.value) == f"torch.sub: {finding_text(found)}"


KINDS = {
    "square": ("column", "square"),
    "every-square": ("column pairs", "square"),
    "mutual-stretch": ("row", "mutual-stretch"),
    "rank-promotion": ("column pairs bias", "rank-promotion"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_select_what_is_reported(torch: Any, kind: Any) -> None:
    x, column, found = torch.ones(5), torch.ones(5, 1), []
    tries = {
        "column": lambda: column - x,
        "pairs": lambda: x[:, None] - x,
        "row": lambda: torch.ones(1, 4) - column,
        "bias": lambda: torch.ones(2, 5) - x,
        "equal": lambda: column - column,
        "a number": lambda: column - 1,
        "no axes": lambda: column - torch.ones(()),
    }
    for name, attempt in tries.items():
        with axiscast.watch(on=lambda finding: None, kinds=(kind,)) as seen:
            attempt()
        found += [(name, [warning.code for warning in finding.answer.warnings]) for finding in seen.findings]
    names, code = KINDS[kind]
    assert found == [(name, [code]) for name in names.split()]


def test_a_line_has_the_first_kind_that_applies(torch: Any) -> None:
    x, column = torch.ones(5), torch.ones(5, 1)
    kinds = ("rank-promotion", "square")
    with axiscast.watch(on=lambda finding: None, kinds=kinds) as seen:
        column - x
        x[:, None] - x
        torch.ones(2, 5) - x
    codes = [[warning.code for warning in finding.answer.warnings] for finding in seen.findings]
    assert codes == [["square"], ["rank-promotion"], ["rank-promotion"]]


def test_shapes_that_do_not_broadcast_are_left_to_torch(torch: Any) -> None:
    with axiscast.watch(on="error") as seen, pytest.raises(RuntimeError, match="must match"):
        torch.ones(5) - torch.ones(5, 1, 3)
    assert seen.findings == []


def test_an_error_about_shapes_has_a_note_with_the_operands(torch: Any) -> None:
    x, bias = np.zeros((2, 3)), np.zeros(4)
    with pytest.raises(ValueError, match="broadcast together") as found, axiscast.watch():
        x + bias
    (note,) = found.value.__notes__
    assert note.startswith("axiscast: x + bias: x (2, 3) float64, bias (4,) float64. ")
    with pytest.raises(KeyError) as other, axiscast.watch():
        {}["key"]
    assert not hasattr(other.value, "__notes__")


def test_traced_sizes_are_not_compared(stand_in: Any) -> None:
    watch = watching.Watch("error", ("square",))
    mode = watching.load_mode()[0](watch, {})

    class Traced:
        def __ne__(self, other: object) -> bool:
            raise AssertionError("a guard")

        __eq__ = __ne__

    x, column = fake_torch.Tensor(Traced()), fake_torch.Tensor(Traced(), Traced())
    mode.report_if_suspicious(torch_ops.FunctionRole("torch.sub", True), [x, column])
    assert watch.findings == []
