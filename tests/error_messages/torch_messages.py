"""The messages of PyTorch: see record.py."""

import torch
import torch.nn.functional as F
from record import Recorder
from torch import nn

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 2)
        self.bias = nn.Parameter(torch.zeros(64))

    def forward(self, x):
        return self.lin(x) + self.bias


meta = {"device": "meta"}
rec = Recorder(
    "torch", torch.__version__, {"torch": torch, "z": torch.zeros, "F": F, "nn": nn, "Block": Block, "meta": meta}
)
case, other = rec.broadcast, rec.other

case("z(2, 64, 7, 7) + z(64)", "torch.add", (2, 64, 7, 7), (64,))
case("x, y = z(3, 4), z(5)\nx * y", "torch.add", (3, 4), (5,), whole=True)
case("z(8, 1, 6) > z(7, 2, 6)", "torch.add", (8, 1, 6), (7, 2, 6))
case("torch.maximum(z(2, 3), z(4, 3))", "torch.add", (2, 3), (4, 3))
case("z(2, 3) - z(3, 2)", "torch.add", (2, 3), (3, 2))
case("torch.pow(z(10), z(3))", "torch.add", (10,), (3,))
case("torch.atan2(z(5, 1, 2), z(3))", "torch.add", (5, 1, 2), (3,))
case("z(0, 3) + z(2, 3)", "torch.add", (0, 3), (2, 3))
case("torch.where(z(2, 3) > 0, z(4), z(1))", "torch.broadcast_tensors", (2, 3), (4,), (1,))
case("torch.lerp(z(2), z(3), z(4))", "torch.broadcast_tensors", (2,), (3,), (4,))
case("torch.addcmul(z(2, 3), z(4), z(1))", "torch.broadcast_tensors", (2, 3), (4,), (1,))
case("z(3).expand(2, 4)", "torch.expand", (3,), size=[2, 4])
case("z(64, 1, 7).expand(2, 32, 7, 7)", "torch.expand", (64, 1, 7), size=[2, 32, 7, 7])
case("z(3).expand(-1, 4)", "torch.expand", (3,), size=[-1, 4])
case("z(2, 3).expand(3)", "torch.expand", (2, 3), size=[3])
case("torch.broadcast_to(z(2, 3), (5, 4, 3))", "torch.expand", (2, 3), size=[5, 4, 3])
case("z(4, 1).expand_as(z(3, 7))", "torch.expand", (4, 1), size=[3, 7])
case("z(3).expand(-2)", "torch.expand", (3,), size=[-2])
case("z(3, 1).add_(z(3, 4))", "torch.expand", (3, 4), size=[3, 1])
case("x = z(5)\nx += z(2, 5)", "torch.expand", (2, 5), size=[5], whole=True)
case("x = z(4, 4)\nx[:] = z(3)", "torch.expand", (3,), size=[4, 4])
case("x = z(4, 6)\nx[1:3, 2:5] = z(2, 2)", "torch.expand", (2, 2), size=[2, 3])
case("z(3).copy_(z(4))", "torch.expand", (4,), size=[3])
case("z(2, 3).copy_(z(5, 2, 3))", "torch.expand", (5, 2, 3), size=[2, 3])
case("x = z(5, 5)\nx[[0, 1], [0, 1, 2]]", "torch.broadcast_tensors", (2,), (3,))
case(
    "x = z(5, 6, 7)\nx[torch.tensor([[0], [1]]), torch.tensor([0, 1, 2]), torch.tensor([0, 1])]",
    "torch.broadcast_tensors",
    (2, 1),
    (3,),
    (2,),
)
case("x = z(5, 5)\nx[torch.tensor([0, 1, 2])] = z(2, 5)", "torch.expand", (2, 5), size=[3, 5])
case("x = z(6, 2)\nx[torch.tensor([0, 1])] = z(3)", "torch.expand", (3,), size=[2, 2])
case("torch.broadcast_tensors(z(3), z(4))", "torch.broadcast_tensors", (3,), (4,))
case("torch.broadcast_tensors(z(2, 3), z(1), z(5, 1, 4))", "torch.broadcast_tensors", (2, 3), (1,), (5, 1, 4))
case("torch.broadcast_shapes((3,), (4,))", "torch.broadcast_tensors", (3,), (4,))
case("torch.broadcast_shapes((2, 3), (7, 1), (5, 4))", "torch.broadcast_tensors", (2, 3), (7, 1))
case("F.mse_loss(z(8), z(8, 1))", "torch.broadcast_tensors", (8,), (8, 1))
case("F.mse_loss(z(8), z(7))", "torch.broadcast_tensors", (8,), (7,))
case("F.l1_loss(z(32, 1), z(32))", "torch.broadcast_tensors", (32, 1), (32,))
case("F.smooth_l1_loss(z(4, 2), z(2, 4))", "torch.broadcast_tensors", (4, 2), (2, 4))
case("F.huber_loss(z(16), z(16, 1))", "torch.broadcast_tensors", (16,), (16, 1))
other("F.binary_cross_entropy(z(8), z(8, 1))")
other("F.binary_cross_entropy_with_logits(z(8, 1), z(8))")
case("z(2, 8, 7, 5).masked_fill(z(2, 7, 5) > 0, 0.0)", "torch.masked_fill", (2, 8, 7, 5), (2, 7, 5))
case("z(4, 4).masked_fill_(z(3) > 0, 1.0)", "torch.masked_fill", (4, 4), (3,))
case("z(2, 3) @ z(4, 5)", "torch.matmul", (2, 3), (4, 5))
case("torch.mm(z(7, 2), z(3, 4))", "torch.matmul", (7, 2), (3, 4))
case("z(2, 3, 4) @ z(3, 4, 5)", "torch.matmul", (2, 3, 4), (3, 4, 5))
other("z(6, 2, 3) @ z(6, 4, 5)")
other("torch.bmm(z(2, 3, 4), z(3, 4, 5))")
other("torch.bmm(z(2, 3, 4), z(2, 5, 6))")
case("nn.Linear(8, 2)(z(4, 7))", "torch.matmul", (4, 7), (8, 2), whole=True)
case("F.linear(z(5, 3, 7), z(2, 8))", "torch.matmul", (15, 7), (8, 2))
case("z(2, 3) @ z(4)", "torch.matmul", (2, 3), (4,), holds=True)
other("torch.dot(z(3), z(4))")
case("torch.addmm(z(5), z(2, 3), z(3, 4))", "torch.expand", (5,), size=[2, 4])
case("torch.baddbmm(z(3, 1, 1), z(2, 3, 4), z(2, 4, 5))", "torch.expand", (3, 1, 1), size=[2, 3, 5])
case("torch.einsum('ij,jk->ik', z(2, 3), z(4, 5))", None, (2, 3), (4, 5))
case("torch.einsum('ij,jk->ik', z(2, 3), z(4, 5))", "torch.einsum", (2, 3), (4, 5), whole=True, equation="ij,jk->ik")
case(
    "F.scaled_dot_product_attention(z(2, 8, 7, 16), z(2, 8, 5, 16), z(2, 8, 5, 16), z(2, 7, 5))",
    "torch.expand",
    (2, 7, 5),
    size=[2, 8, 7, 5],
)
case("torch.vmap(torch.add)(z(3, 4), z(3, 5))", "torch.add", (3, 4), (3, 5))
case("z(2, 3, **meta) + z(4, **meta)", "torch.broadcast_tensors", (2, 3), (4,))
case("z(3, **meta).expand(2, 4)", "torch.expand", (3,), size=[2, 4])
case("Block()(z(4, 8))", "torch.add", (4, 2), (64,), whole=True)
case("F.cosine_similarity(z(2, 3), z(4, 3))", "torch.broadcast_tensors", (2, 3), (4, 3))
case("torch.cdist(z(2, 3, 4), z(3, 3, 4))", None, (2,), (3,))
case("torch.complex(z(2), z(3))", "torch.add", (2,), (3,))
case("torch.distributions.Normal(z(3), torch.ones(4))", "torch.broadcast_tensors", (3,), (4,))
other("nn.GaussianNLLLoss()(z(4, 2), z(4, 2), torch.ones(3))")

other("torch.cat([z(2, 3), z(2, 4)])")
other("torch.stack([z(3), z(4)])")
other("torch.cat([z(2, 3), z(3)])")
other("z(6).view(4, 2)")
other("z(2, 3).reshape(-1, 4)")
other("z(2, 3).t().view(6)")
other("torch.gather(z(3, 4), 1, torch.zeros(4, 1, dtype=torch.int64))")
other("F.cross_entropy(z(8, 3), torch.zeros(7, dtype=torch.int64))", whole=True)
other("F.nll_loss(z(8, 3), torch.zeros(8, 3, dtype=torch.int64))")
other("F.layer_norm(z(4, 32), (16,))")
other("nn.BatchNorm2d(3)(z(2, 4, 5, 5))")
other("nn.Conv2d(3, 8, 3)(z(2, 4, 5, 5))", whole=True)
other("nn.Conv2d(3, 8, 3)(z(2, 3, 2, 2))")
other("nn.Embedding(10, 4)(torch.tensor([10]))")
other("nn.LSTM(8, 4)(z(5, 2, 7))")
other("z(3)[5]")
other("z(2, 3)[:, :, 0]")
other("z(3)[torch.ones(4, dtype=torch.bool)]")
other("z(2, 3).permute(0, 1, 2)")
other("z(2, 3).sum(5)")
other("z(2, 3).squeeze(7)")
other("z(3, dtype=torch.int64) @ z(3)")
other("z(3).add_(z(3, dtype=torch.complex64))")
other("z(3).numpy(force=False).dtype.nonsense")
other("torch.vmap(torch.add)(z(3, 4), z(5, 4))")
other("torch.tensor([[1, 2], [3]])")
other("z(2, 3).item()")
other("bool(z(3))")
other("torch.linalg.inv(z(2, 3))")
other("z(4, requires_grad=True).add_(1)")
other("z(3, requires_grad=True).backward()")
other("nn.Linear(8, 2).load_state_dict({'weight': z(3, 8), 'bias': z(2)})")
other("torch.chunk(z(3), 0)")
other("z(7).split([3, 3])")
other("z(4).scatter_(0, torch.tensor([5]), 1.0)")
other("z(3).index_select(0, torch.tensor([4]))")
other("z(-1)")
other("z(3).to('nonsense')")
case("z(7, 4) / z(7, 3)", "torch.add", (7, 4), (7, 3))
case("torch.clamp(z(4, 2), min=z(3))", "torch.add", (4, 2), (3,))
case("z(4, 2).sub_(z(4, 2, 2))", None)
case("x = z(4, 5)\nx[:, 1:3] = torch.ones(4, 3)", "torch.expand", (4, 3), size=[4, 2])
case("x = z(4, 5)\nx[x > 0] = torch.ones(3)", "torch.expand", (3,), size=[0])
case("nn.MSELoss()(z(10, 1), z(10))", "torch.broadcast_tensors", (10, 1), (10,))
case("nn.SmoothL1Loss()(z(10, 1), z(10))", "torch.broadcast_tensors", (10, 1), (10,))
case("nn.KLDivLoss()(z(4, 3), z(4, 2))", None)
case("torch.zeros(3, 4).expand(2, 3, 5)", "torch.expand", (3, 4), size=[2, 3, 5])
case("torch.tensor([1, 2, 3]).view(3, 1).expand(3, 4, 5)", "torch.expand", (3, 1), size=[3, 4, 5])
case("torch.func.vmap(lambda a, b: a + b, in_dims=(0, None))(z(3, 4), z(5))", None)
case("F.linear(z(4, 7), z(3, 8), z(3))", "torch.matmul", (4, 7), (8, 3))
case("torch.chain_matmul(z(2, 3), z(4, 5))", "torch.matmul", (2, 3), (4, 5))
case("z(2, 3).mv(z(4))", "torch.matmul", (2, 3), (4,), holds=True)
case("torch.export.export(Block(), (z(4, 8),))", "torch.broadcast_tensors", (4, 2), (64,))
case(
    "from torch._subclasses import FakeTensorMode\nwith FakeTensorMode():\n    torch.zeros(2, 3) * torch.zeros(4)",
    "torch.broadcast_tensors",
    (2, 3),
    (4,),
)
other("nn.MultiheadAttention(8, 2)(z(5, 2, 8), z(5, 2, 8), z(5, 2, 8), attn_mask=z(4, 4))")
other("torch.hstack([z(2, 3), z(3, 3)])")
other("nn.LayerNorm(5)(z(2, 4))")
other("nn.Conv1d(2, 3, 1)(z(4, 5, 6))")
other("nn.CrossEntropyLoss()(z(4, 3), z(4, 2))")
other("F.cross_entropy(z(8, 3, 5), torch.zeros(8, dtype=torch.int64))")
other("torch.bmm(z(2, 3, 4), z(2, 4))")
other("torch.bmm(z(3, 4), z(3, 4, 5))")
other("torch.mm(z(2, 3), z(3))")
other("torch.dot(z(3), z(4))")
other("torch.dot(z(2, 3), z(2, 3))")
other("z(2, 3, 4).t()")
other("nn.Conv2d(3, 8, 3)(z(32, 100))")
other("nn.BatchNorm1d(64)(z(1, 64))")
other("torch.gather(z(2, 3), 1, torch.zeros(2, dtype=torch.int64))")
other("torch.linalg.cross(z(3, 3), z(4))")
other("torch.nn.functional.embedding(torch.tensor([0]), z(3))")
other("torch.cdist(z(2, 3), z(4, 5))")
other("torch.lerp(z(3), z(3, 1), z(4, 1, 5))")
case("torch.distributions.Normal(z(3), torch.ones(3)).log_prob(z(4))", "torch.broadcast_tensors", (4,), (3,))
case("torch.addmm(z(2, 7), z(2, 3), z(3, 5))", "torch.expand", (2, 7), size=[2, 5])
case("torch.baddbmm(z(7), z(2, 3, 4), z(2, 4, 5))", "torch.expand", (7,), size=[2, 3, 5])
case("torch.addcmul(z(3), z(4), z(4))", None)
case(
    "from torch._subclasses import FakeTensorMode\nwith FakeTensorMode():\n    torch.zeros(2, 3) @ torch.zeros(4, 5)",
    "torch.matmul",
    (2, 3),
    (4, 5),
)
case("z(3).expand(3, 4)", "torch.expand", (3,), size=[3, 4])
case("F.mse_loss(z(8, 1), z(8))", "torch.broadcast_tensors", (8, 1), (8,))
rec.write()
