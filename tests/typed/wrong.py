"""Wrong uses of the public names. A type checker reports exactly the lines that end in `# wrong`."""
# ruff: noqa

import asyncio

import numpy as np

import axiscast
from axiscast import ngrpah  # wrong
from axiscast import Cleint  # wrong
from axiscast import IncompatibleShape  # wrong
from axiscast.ops import trch  # wrong
from axiscast.ops.torch import expnd  # wrong

axiscast.chekc("numpy.add", (3,))  # wrong
axiscast.Client("http://127.0.0.1:8000", tiemout=5)  # wrong
axiscast.Client().brodcast_to([1], (3,))  # wrong
axiscast.Client().compare((3,), assumed={})  # wrong
axiscast.Client().with_options(tiemout=5)  # wrong
axiscast.Client().broadcast_to(np.ones(3), (2, 3)).shap  # wrong
axiscast.errors.OutputTooLareg  # wrong
axiscast.ops.OPSS  # wrong
axiscast.torhc  # wrong
axiscast.torch.expnad(size=(3,))  # wrong
axiscast.torch.expand(sise=3)  # wrong
axiscast.torch.expand()  # wrong
axiscast.torch.expand(size={2, 3})  # wrong
axiscast.mindspore.broadcast_to(shape=3)  # wrong
axiscast.ngraph.Broadcast(shape=(2, 3), broadcast_axis={0})  # wrong
axiscast.check("numpy.add", (3,)).compatibel  # wrong
axiscast.check("numpy.add", (3,)).outputs[0].shap  # wrong
axiscast.compare((3,), assume=3)  # wrong
np.zeros(axiscast.check(("N",), (3,)).shape)  # wrong
axiscast.broadcast_to(np.ones(3), (2, 3)).shap  # wrong
axiscast.check((3,), (4,)).result  # wrong
axiscast.check((3,), explain=1.5)  # wrong
axiscast.why(3)  # wrong
axiscast.translate("numpy.add", (3,), too="torch.add")  # wrong
axiscast.check_modle("model.onnx")  # wrong
axiscast.check_model("model.onnx").exit_statsu()  # wrong


async def main() -> None:
    async with axiscast.AsyncClient(retires=1) as client:  # wrong
        await client.chekc("numpy.add", (3,))  # wrong
        await client.broadcast_shapes("numpy.add", shape=(3,))  # wrong


asyncio.run(main())
