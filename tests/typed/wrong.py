"""Wrong uses: every type checker reports each line that ends in `# wrong`, and no other."""
# ruff: noqa

import asyncio

import tensorcast
from tensorcast import ngrpah  # wrong
from tensorcast import Cleint  # wrong
from tensorcast import IncompatibleShape  # wrong
from tensorcast.ops import trch  # wrong
from tensorcast.ops.torch import expnd  # wrong

tensorcast.chekc("numpy.add", (3,))  # wrong
tensorcast.Client("http://127.0.0.1:8000", tiemout=5)  # wrong
tensorcast.Client().brodcast_to([1], (3,))  # wrong
tensorcast.Client().compare((3,), assumed={})  # wrong
tensorcast.errors.OutputTooLareg  # wrong
tensorcast.ops.OPSS  # wrong
tensorcast.torhc  # wrong
tensorcast.torch.expnad(size=(3,))  # wrong
tensorcast.torch.expand(sise=3)  # wrong
tensorcast.torch.expand()  # wrong
tensorcast.ngraph.Broadcast(shape=(2, 3), broadcast_axis={0})  # wrong
tensorcast.check("numpy.add", (3,)).compatibel  # wrong
tensorcast.check("numpy.add", (3,)).outputs[0].shap  # wrong
tensorcast.compare((3,), assume=3)  # wrong
tensorcast.translate("numpy.add", (3,), too="torch.add")  # wrong
tensorcast.check_modle("model.onnx")  # wrong
tensorcast.check_model("model.onnx").exit_statsu()  # wrong


async def main() -> None:
    async with tensorcast.AsyncClient(retires=1) as client:  # wrong
        await client.chekc("numpy.add", (3,))  # wrong
        await client.broadcast_shapes("numpy.add", shape=(3,))  # wrong


asyncio.run(main())
