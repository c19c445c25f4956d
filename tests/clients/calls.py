"""Calls every endpoint with the client that openapi-python-client generates. Usage: python calls.py URL."""

from __future__ import annotations

import sys
from pkgutil import iter_modules

from axiscast_api import Client, models
from axiscast_api.api import broadcasting
from axiscast_api.api.broadcasting import (
    backprop,
    broadcast,
    check,
    check_batch,
    check_columns,
    check_in_url,
    compare,
    op,
    ops,
    translate,
    why,
)

ROWS = models.OpWithShapeAndBroadcastAxes(name="ngraph.Broadcast", shape=[2, 3], broadcast_axes=[0])


def call_check(client: Client) -> None:
    answer = check.sync(client=client, body=models.CheckRequest(inputs=[[8, 1, 6, 1], [7, 1, 5]]))
    assert isinstance(answer, models.CheckAnswer)
    assert answer.shape == [8, 7, 6, 5]
    answer = check.sync(client=client, body=models.CheckRequest(op=ROWS, inputs=[[3]]))
    assert isinstance(answer, models.CheckAnswer)
    assert answer.broadcast_inputs
    assert answer.broadcast_inputs[0].broadcast_axes == [0]


def call_check_in_url(client: Client) -> None:
    answer = check_in_url.sync(client=client, input_=["2,64,7,7", "64"], op=models.CheckInUrlOp.NUMPY_ADD, explain=True)
    assert isinstance(answer, models.CheckAnswer)
    assert answer.compatible is False
    assert isinstance(answer.conflict, models.ConflictAnswer)
    assert answer.conflict.hints
    request = answer.conflict.hints[0].request
    assert isinstance(request, models.CheckRequest)
    assert isinstance(request.op, models.OpWithoutAttributes)
    assert request.op.name == "numpy.add"
    assert request.inputs == [[2, 64, 7, 7], [64, 1, 1]]
    followed = check.sync(client=client, body=request)
    assert isinstance(followed, models.CheckAnswer)
    assert followed.shape == [2, 64, 7, 7]
    assert isinstance(answer.diagram, str)

    attributes = models.CheckInUrlAttributes(mode=models.CheckInUrlAttributesMode.EXPLICIT, target_shape="2,3")
    attributes.axes_mapping = "1"
    explicit = models.CheckInUrlOp.OPENVINO_BROADCAST_1
    answer = check_in_url.sync(client=client, input_=["3"], op=explicit, attributes=attributes)
    assert isinstance(answer, models.CheckAnswer)
    assert answer.outputs
    assert answer.outputs[0].shape == [2, 3]


def call_check_batch(client: Client) -> None:
    rows = [models.CheckRequest(op=ROWS, inputs=[["N"]]), models.CheckRequest(op="no.op", inputs=[])]
    answer = check_batch.sync(client=client, body=models.CheckBatchRequest(requests=rows))
    assert isinstance(answer, models.CheckBatchAnswer)
    assert isinstance(answer.results, list)
    first, second = answer.results
    assert isinstance(first, models.CheckAnswer)
    assert first.compatible is None
    assert isinstance(second, models.Failed)
    assert second.error.code == "unknown-op"


def call_check_columns(client: Client) -> None:
    columns = [models.Tensor(shape=[2, 2], data=[[3, 1], [5, 4]]), models.Tensor(shape=[2, 1], data=[4, 3])]
    body = models.CheckColumnsRequest(op="numpy.broadcast_arrays", inputs=columns)
    answer = check_columns.sync(client=client, body=body)
    assert isinstance(answer, models.CheckColumnsAnswer)
    assert isinstance(answer.shape, models.Tensor)
    assert answer.shape.data == [[3, 4], [-1, -1]]
    assert answer.compatible.data == [True, False]


def call_broadcast(client: Client) -> None:
    row = models.Tensor(dtype="float32", shape=[3], data=[1, 2, 3])
    answer = broadcast.sync(client=client, body=models.BroadcastRequest(op=ROWS, inputs=[row]))
    assert isinstance(answer, models.BroadcastAnswer)
    assert answer.broadcast_inputs[0].data == [[1, 2, 3], [1, 2, 3]]
    strided = models.BroadcastRequest(op=ROWS, inputs=[row], layout=models.TensorLayout.STRIDED)
    answer = broadcast.sync(client=client, body=strided)
    assert isinstance(answer, models.BroadcastAnswer)
    assert answer.broadcast_inputs[0].strides == [0, 1]

    refused = models.BroadcastRequest(op=ROWS, inputs=[models.Tensor(shape=[2], data=[1, 2])])
    problem = broadcast.sync(client=client, body=refused)
    assert isinstance(problem, models.ProblemDetails)
    assert problem.code == "incompatible-shapes"
    assert isinstance(problem.conflict, models.ConflictAnswer)
    assert problem.conflict.axis == 1


def call_backprop(client: Client) -> None:
    gradient = models.Tensor(shape=[2, 3], data=[[1, 2, 3], [10, 20, 30]])
    body = models.BackpropRequest(op=ROWS, inputs=[[3]], gradients=[gradient])
    answer = backprop.sync(client=client, body=body)
    assert isinstance(answer, models.BackpropAnswer)
    assert answer.gradients[0].data == [11, 22, 33]


def call_compare(client: Client) -> None:
    answer = compare.sync(client=client, body=models.CompareRequest(inputs=[[1, 3]], shape=[2, -1]))
    assert isinstance(answer, models.CompareAnswer)
    verdicts = {result.op["name"]: result.compatible for result in answer.results}
    assert verdicts["mindspore.broadcast_to"] is True
    assert verdicts["numpy.broadcast_to"] is False


def call_translate(client: Client) -> None:
    to = models.TranslateRequestTo.STABLEHLO_BROADCAST_IN_DIM
    answer = translate.sync(client=client, body=models.TranslateRequest(op=ROWS, inputs=[[3]], to=to))
    assert isinstance(answer, models.TranslateAnswer)
    op = answer.steps[0].op
    assert isinstance(op, models.OpWithShapeAndBroadcastDimensions)
    assert op.broadcast_dimensions == [1]


def call_why(client: Client) -> None:
    text = "operands could not be broadcast together with shapes (3,4) (5,)"
    answer = why.sync(client=client, body=models.WhyRequest(text=text))
    assert isinstance(answer, models.WhyAnswer)
    assert answer.inputs == [[3, 4], [5]]
    assert isinstance(answer.check, models.CheckAnswer)
    assert answer.check.compatible is False


def call_ops(client: Client) -> None:
    answer = ops.sync(client=client)
    assert isinstance(answer, models.Catalogue)
    assert answer.ops[0].name == "numpy.broadcast_arrays"
    answer = ops.sync(client=client, framework="ngraph")
    assert isinstance(answer, models.Catalogue)
    assert {op.name.split(".")[0] for op in answer.ops} == {"ngraph"}


def call_op(client: Client) -> None:
    answer = op.sync("openvino.Broadcast-1", client=client)
    assert isinstance(answer, models.OpEntry)
    assert answer.target == "target_shape"
    problem = op.sync("no.op", client=client)
    assert isinstance(problem, models.ProblemDetails)
    assert problem.status == 404


CALLS = {name.removeprefix("call_"): call for name, call in vars().copy().items() if name.startswith("call_")}
endpoints = {module.name for module in iter_modules(broadcasting.__path__)}
assert endpoints == set(CALLS), f"not called, or not there: {endpoints ^ set(CALLS)}"
for name, call in CALLS.items():
    call(Client(sys.argv[1]))
    print(f"python: {name}")
