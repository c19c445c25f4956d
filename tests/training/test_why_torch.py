"""why(exception) of real PyTorch: the operands of failing expressions, of modules too. Skipped where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import axiscast

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional
z = torch.zeros


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(8, 2)
        self.relu = torch.nn.ReLU()
        self.bias = torch.nn.Parameter(z(64))
        self.register_buffer("avg", z(3))

    def attend(self, q: Any, k: Any, mask: Any) -> Any:
        return q @ k.transpose(-1, -2) + mask

    def scale(self, x: Any, y: Any) -> Any:
        x *= y
        return x


net = Net()
CASES: dict[str, tuple[Callable[..., object], tuple[Any, ...], str]] = {
    "a parameter": (
        lambda x: x + net.bias, (z(2, 64, 7, 7),),
        "x + net.bias: x (2, 64, 7, 7) float32, net.bias (64,) float32. ",
    ),
    "a buffer": (lambda x: x - net.avg, (z(1, 3, 9, 9),), "x - net.avg: x (1, 3, 9, 9) float32, net.avg (3,) float3"),
    "a layer": (
        lambda x: net.lin(x), (z(4, 7),), "net.lin(x): x (4, 7) float32, net.lin.weight (2, 8) float32. ",
    ),
    "what layers return": (
        lambda x: net.relu(net.lin(x)) + net.bias, (z(4, 8),),
        "net.relu(net.lin(x)) + net.bias: net.relu(net.lin(x)) (4, 2), net.bias (64,) float32. ",
    ),
    "a mask": (
        lambda x, m: x.masked_fill(m, float("-inf")), (z(4, 8, 9, 9), z(4, 9) > 0),
        'x.masked_fill(m, float("-inf")): x (4, 8, 9, 9) float32, m (4, 9) bool. ',
    ),
    "a mask with a condition": (
        lambda x, m: x.masked_fill(m > 0, -1e9), (z(2, 8, 7, 5), z(2, 7, 5)),
        "x.masked_fill(m > 0, -1e9): x (2, 8, 7, 5) float32, m > 0 (2, 7, 5). ",
    ),
    "attention": (
        net.attend, (z(2, 8, 7, 16), z(2, 8, 5, 16), z(2, 7, 5)),
        "q @ k.transpose(-1, -2) + mask: q @ k.transpose(-1, -2) (2, 8, 7, 5), mask (2, 7, 5) float32. ",
    ),
    "a loss": (lambda p, t: F.l1_loss(p, t), (z(8), z(7)), "F.l1_loss(p, t): p (8,) float32, t (7,) float32. "),
    "expand": (lambda x: x.expand(4, 5), (z(3),), "x.expand(4, 5): x (3,) float32. "),
    "a comparison": (lambda p, t: p == t, (z(4, 2), z(3)), "p == t: p (4, 2) float32, t (3,) float32. "),
    "in place": (net.scale, (z(3, 1), z(3, 4)), "x *= y: x (3, 1) float32, y (3, 4) float32. "),
    "a mean": (
        lambda x: x - x.mean(1), (z(4, 6),), "x - x.mean(1): x (4, 6) float32, x.mean(1) (4,). ",
    ),
    "where": (
        lambda c, a, b: torch.where(c > 0, a, b), (z(2, 3), z(4), z(1)),
        "torch.where(c > 0, a, b): c > 0 (2, 3), a (4,) float32, b (1,) float32. ",
    ),
    "a stack of matrices": (
        lambda a, b: a @ b, (z(2, 3, 4), z(3, 4, 5)), "a @ b: a (2, 3, 4) float32, b (3, 4, 5) float32. ",
    ),
    "functions": (
        lambda a, b: -a * torch.sigmoid(b), (z(3, 4), z(5)), "-a * torch.sigmoid(b): -a (3, 4), torch.sigmoid(b) (5,",
    ),
    "a call that is not known": (
        lambda a, b: torch.cumsum(a, 0) + b, (z(3, 4), z(5)),
        "torch.cumsum(a, 0) + b: b (5,) float32. ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_the_operands_are_named(name: str) -> None:
    function, arguments, start = CASES[name]
    with pytest.raises(RuntimeError) as found:
        function(*arguments)
    message = axiscast.why(found.value).message
    assert message.startswith(start), message


class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Mode.calls += 1
        return func(*args, **(kwargs or {}))


class Own(torch.Tensor):  # type: ignore[misc]
    calls = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Own.calls += 1
        return super().__torch_function__(func, types, args, kwargs)


def test_neither_a_mode_nor_a_class_of_tensors_is_called() -> None:
    x, own = z(2, 3), z(4).as_subclass(Own)
    with pytest.raises(RuntimeError) as found:
        x + own
    with Mode():
        before = Mode.calls, Own.calls
        answer = axiscast.why(found.value)
        assert (Mode.calls, Own.calls) == before
    assert answer.message.startswith("x + own: x (2, 3) float32, own (4,) float32. ")


def test_a_watch_adds_the_note() -> None:
    x, y = z(2, 3), z(4)
    with pytest.raises(RuntimeError) as found, axiscast.watch():
        x + y
    assert found.value.__notes__[0].startswith("axiscast: x + y: x (2, 3) float32, y (4,) float32. ")
