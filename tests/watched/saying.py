"""Programs that warn, and programs that fail."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import torch
from torch.nn import functional as F


def target_of_another_size() -> Any:
    return F.mse_loss(torch.rand(5, 1), torch.rand(5)), torch.nn.L1Loss()(torch.rand(5, 1), torch.rand(5))


def softmax_without_a_dimension() -> Any:
    x = torch.rand(2, 3)
    return F.softmax(x), F.log_softmax(x), torch.nn.Softmax()(x), torch.nn.Softmin()(x), torch.nn.LogSoftmax()(x)


def reduction_of_old() -> Any:
    return F.l1_loss(torch.rand(3), torch.rand(3), size_average=False), F.mse_loss(
        torch.rand(3), torch.rand(3), reduce=True
    )


def warnings_of_kernels() -> Any:
    x = torch.rand(2, 3, 4)
    return (
        x.T,
        torch.rand(3, dtype=torch.complex64).float(),
        torch.rand(1).std(),
        torch.add(torch.rand(3), 1, out=torch.empty(2)),
        torch.meshgrid(torch.rand(2), torch.rand(3)),
        torch.rand(3)[torch.ones(3, dtype=torch.uint8)],
        torch.searchsorted(torch.rand(4, 4).T, torch.rand(4, 2)),
        torch.from_numpy(__import__("numpy").frombuffer(b"1234", dtype="uint8")),
        torch.tensor(torch.rand(2)),
    )


def warning_of_a_gradient() -> Any:
    x = torch.rand(3, requires_grad=True)
    y = x * 2
    return y.grad, torch.rand(3, requires_grad=True).sum().backward(create_graph=True)


def warnings_of_layers() -> Any:
    return (
        F.dropout2d(torch.rand(2, 3)),
        F.dropout1d(torch.rand(2, 3)),
        F.upsample(torch.rand(1, 1, 2, 2), scale_factor=2),
        F.interpolate(torch.rand(1, 1, 2, 2), scale_factor=1.5, recompute_scale_factor=True),
        F.grid_sample(torch.rand(1, 1, 2, 2), torch.rand(1, 2, 2, 2)),
        F.kl_div(torch.rand(3).log(), torch.rand(3)),
        F.sigmoid(torch.rand(2)),
        F.tanh(torch.rand(2)),
        F.nll_loss(torch.rand(2, 3).log(), torch.tensor([0, 1]), size_average=True),
        torch.nn.LSTM(3, 2, dropout=0.5)(torch.rand(1, 1, 3)),
        torch.nn.utils.clip_grad_norm([torch.nn.Parameter(torch.rand(2))], 1.0),
        torch.nn.init.uniform(torch.empty(2)),
        torch.nn.init.zeros_(torch.empty(0)),
        torch.nn.init.kaiming_uniform_(torch.empty(0, 2)),
    )


def deprecated_methods() -> Any:
    x = torch.rand(4)
    with torch.no_grad():
        return x.resize(2, 2), x.storage().size(), torch.rand(4).resize_as(x.view(2, 2))


def scalar_of_a_gradient() -> Any:
    x = torch.rand(3, requires_grad=True)
    return float(x.sum()), [*x], bool(x[0] > 0), torch.tensor(x)


def converted_by_functions() -> Any:
    return torch.norm(torch.rand(3, 3)), torch.lu(torch.eye(2)), torch.stft(torch.rand(32), 8, return_complex=True)


def warning_from_an_own_class() -> Any:
    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            warnings.warn("level 1", stacklevel=1)
            warnings.warn("level 2", FutureWarning, stacklevel=2)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.rand(3).as_subclass(Loud)
    y = x + 1
    return torch.neg(y), F.relu(x)


def warning_from_an_operator_in_python() -> Any:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        warnings.warn("level 1", stacklevel=1)
        warnings.warn("level 2", stacklevel=2)
        return x * 2

    with torch.library._scoped_library("watched_saying", "FRAGMENT") as library:
        library.define("doubled(Tensor x) -> Tensor")
        library.impl("doubled", doubled, "CompositeImplicitAutograd")
        return torch.ops.watched_saying.doubled(torch.rand(3))


def warning_once_for_each_place() -> Any:
    said = []
    for action in ("default", "module", "once"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.resetwarnings()
            warnings.simplefilter(action)  # type: ignore[arg-type]
            for _ in range(3):
                F.mse_loss(torch.ones(5, 1), torch.ones(5))
                F.l1_loss(torch.ones(5, 1), torch.ones(5))
            F.mse_loss(torch.ones(5, 1), torch.ones(5))
        said.append([warning.lineno for warning in caught if warning.category is UserWarning])
    return said


def warnings_filtered_by_module() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=__name__)
        F.mse_loss(torch.ones(5, 1), torch.ones(5))
        torch.ones(2, 2, 2).mT.T.numel()
        warnings.filterwarnings("error", message="Using a target", module=__name__)
        F.mse_loss(torch.ones(5, 1), torch.ones(5))


def kernel_warnings_filtered_by_module() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning, module=__name__, message="Casting complex")
        torch.ones(3, dtype=torch.complex64).float()


def warnings_as_errors() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        F.softmax(torch.ones(3))


def shown_by_an_own_function() -> Any:
    shown: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, file, line, *rest: shown.append((str(message), file, line))
        F.softmax(torch.ones(3))
    return shown


def shapes_that_do_not_match() -> Any:
    return torch.rand(5) - torch.rand(5, 1, 3)


def unknown_argument() -> Any:
    return torch.add(torch.rand(3), othr=1)


def missing_argument() -> Any:
    return torch.Tensor.__getitem__(torch.rand(3))


def no_arguments() -> Any:
    return torch.maximum()


def wrong_types() -> Any:
    return torch.rand(3) + "three"


def unhashable_operands() -> Any:
    return torch.where([1], {2: 3}, torch.rand(3))


def index_out_of_range() -> Any:
    return torch.rand(3)[None, 5]


def in_place_on_a_leaf() -> Any:
    torch.rand(3, requires_grad=True).add_(1)


def in_place_that_expands() -> Any:
    x = torch.rand(3)
    x -= torch.rand(3, 1)


def changed_before_backward() -> Any:
    x = torch.rand(3, requires_grad=True)
    y = torch.sigmoid(x)
    y.add_(1)
    y.sum().backward()


def backward_twice() -> Any:
    loss = torch.rand(3, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


def truth_of_many() -> Any:
    return bool(torch.rand(3) > 0)


def error_of_a_module() -> Any:
    return torch.nn.Linear(3, 2)(torch.rand(5, 4))


def error_with_a_cause() -> Any:
    try:
        torch.rand(3).view(2, 2)
    except RuntimeError as error:
        raise ValueError("reshape") from error


def where_errors_are_raised() -> Any:
    """Return the last line of a traceback, which is the one that failed."""
    try:
        torch.rand(3).view(2, 2)
    except RuntimeError as error:
        trace = error.__traceback__
        lines = []
        while trace is not None:
            lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
            trace = trace.tb_next
    return lines[0], __file__ == lines[-1][0]


def recursion() -> Any:
    def deep(x: torch.Tensor) -> torch.Tensor:
        return deep(x + 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 300)
    try:
        deep(torch.zeros(1))
    except RecursionError:
        return "too deep"
    finally:
        sys.setrecursionlimit(limit)


def interrupted() -> Any:
    class Stop(BaseException):
        pass

    x = torch.rand(3, requires_grad=True)

    def stop(grad: Any) -> None:
        raise Stop("here")

    x.register_hook(stop)
    try:
        x.sum().backward()
    except Stop as error:
        return str(error), x.grad
