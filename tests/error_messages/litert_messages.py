"""The messages of LiteRT: see record.py."""

from importlib.metadata import version

import numpy as np
from litert_models import run
from record import Recorder


def z(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


rec = Recorder("litert", version("ai-edge-litert"), {"run": run, "z": z})
case, other = rec.broadcast, rec.other
case("run('ADD', [z(3, 4), z(5)])", "litert.ADD", (3, 4), (5,))
case("run('ADD', [z(2, 64, 7, 7), z(64)])", "litert.ADD", (2, 64, 7, 7), (64,), holds=True)
case("run('ADD', [z(8, 1, 6), z(7, 2, 5)])", "litert.ADD", (8, 1, 6), (7, 2, 5), holds=True)
case("run('PRELU', [z(2, 3), z(2)])", "litert.ADD", (2, 3), (2,))
case("run('PRELU', [z(3), z(2, 3)])", "litert.PRELU", (3,), (2, 3), holds=False)
case("run('SELECT_V2', [z(2, 3) > 0, z(4), z(1)])", "litert.SELECT_V2", (2, 3), (4,), (1,), holds=True)
case("run('BROADCAST_TO', [z(3)], [2, 4])", "litert.BROADCAST_TO", (3,), shape=[2, 4], holds=False)
case("run('BROADCAST_TO', [z(2, 3)], [3])", "litert.BROADCAST_TO", (2, 3), shape=[3], holds=False)
rec.write()
