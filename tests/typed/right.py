"""Right uses of the public names. No type checker reports an error."""

import asyncio

import numpy as np

import axiscast
from axiscast import AsyncClient, AxiscastError, Client, IncompatibleShapes, UnexpectedStatus, errors, ngraph, ops
from axiscast.ops import torch

answer: axiscast.CheckAnswer = axiscast.check("numpy.broadcast_arrays", (8, 1), (7, 1, 5))
shape: tuple[int | str, ...] = axiscast.check(axiscast.torch.expand(size=(2, -1)), ("N",)).outputs[0].shape
np.zeros(axiscast.check((3, 1), (1, 4)).shape)
np.zeros(axiscast.check("numpy.add", np.ones((3, 1)), [4]).broadcast_inputs[0].shape)
sizes: tuple[int, ...] = axiscast.check("numpy.matmul", (2, 3), (3, 4)).shape
symbolic: axiscast.CheckAnswer[int | str] = axiscast.check(("N", 1), (1, "M"), assume={"N": "2.."})
known: list[axiscast.Comparison] = axiscast.compare((2, 1), (3,))
named: list[axiscast.Comparison[int | str]] = axiscast.compare(("N", 1), (3,))
wide: list[np.ndarray] = axiscast.broadcast(np.ones((3, 1)), np.ones(4))
row: np.ndarray = axiscast.broadcast_to(np.ones(3), (2, 3))
sums: list[np.ndarray] = axiscast.backprop("numpy.broadcast_to", [(3,)], np.ones((2, 3)), shape=(2, 3))
whole: bool = bool(axiscast.check(axiscast.CheckRequest(inputs=[(3,)]))) and axiscast.can_broadcast((3,), np.ones(3))
verdicts: list[axiscast.Comparison] = axiscast.compare((2, 1), (3,))
sentence: str = axiscast.why("operands could not be broadcast together with shapes (3,4) (5,)").message
explained: axiscast.WhyAnswer = axiscast.why(ValueError("shapes"))
axiscast.numpy.broadcast_to(shape=3)
axiscast.translate(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), (3,), to="numpy.broadcast_to")
axiscast.check_columns("numpy.broadcast_arrays", np.ones((3, 1), np.int64))
report: axiscast.Report = axiscast.check_model("model.onnx", assume={"N": "2.."})
names: list[str] = sorted(ops.OPS)

with Client("http://127.0.0.1:8000", timeout=5, retries=1) as client:
    try:
        client.broadcast_to(np.ones(3), (2, 3))
    except IncompatibleShapes as problem:
        print(problem.conflict.axis, problem.detail, problem.request_id)
    except UnexpectedStatus as unexpected:
        print(unexpected.status + 1)
    except (errors.OutputTooLarge, AxiscastError) as other:
        print(other.request_id)
    client.backprop(torch.expand(size=(2, 3)), [(3,)], np.ones((2, 3)))
    of_names: axiscast.CheckAnswer[int | str] = client.check(("N", 1), (3,), assume={"N": "2.."})
    patient: Client = client.with_options(timeout=60, progress=print)
    patient.broadcast_to(np.ones(3), (2, 3), out=np.ones((2, 3)))
    np.zeros(client.check("numpy.add", (3, 1), (4,)).shape) + client.broadcast(np.ones((3, 1)), np.ones(4))[0]


async def main() -> tuple[int, ...]:
    async with AsyncClient() as client:
        np.zeros((await client.check((3, 1), (1, 4))).shape)
        await client.check(("N", 1), (3,))
        await client.with_options(timeout=60).broadcast_to(np.ones(3), (2, 3), out=np.ones((2, 3)))
        return await client.broadcast_shapes((2, 1), (3,))


asyncio.run(main())
