"""Random programs with a mistake about shapes: the framework, the op, the sizes, the names and the form are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

ONES = {
    "numpy": "np.ones(({}))",
    "torch": "torch.ones({})",
    "jax": "jnp.ones(({}))",
    "mlx": "mx.ones(({}))",
    "paddle": "paddle.ones([{}])",
    "tensorflow": "tf.ones(({}))",
}
MODULES = ("np", "torch", "jnp", "mx", "paddle", "tf")


def same_calls(call: str) -> tuple[str, ...]:
    """Return a call that differs only in its module."""
    return tuple(f"{module}.{call}" for module in MODULES)


CALLS = {
    "maximum": same_calls("maximum({a}, {b})"),
    "product": ("np.dot({a}, {b})", "torch.mm({a}, {b})", "jnp.dot({a}, {b})", "mx.matmul({a}, {b})",
                "paddle.mm({a}, {b})", "tf.matmul({a}, {b})"),
    "join": ("np.concatenate([{a}, {b}])", "torch.cat([{a}, {b}])", "jnp.concatenate([{a}, {b}])",
             "mx.concatenate([{a}, {b}])", "paddle.concat([{a}, {b}])", "tf.concat([{a}, {b}], 0)"),
    "stack": same_calls("stack([{a}, {b}])"),
    "reshape": ("{a}.reshape(N, M)", "{a}.reshape(N, M)", "{a}.reshape(N, M)", "{a}.reshape(N, M)",
                "{a}.reshape([N, M])", "tf.reshape({a}, (N, M))"),
    "expand": ("np.broadcast_to({b}, (N, M))", "{b}.expand(N, M)", "jnp.broadcast_to({b}, (N, M))",
               "mx.broadcast_to({b}, (N, M))", "paddle.expand({b}, [N, M])", "tf.broadcast_to({b}, (N, M))"),
    "einsum": same_calls("einsum('ab,bc->ac', {a}, {b})"),
}  # fmt: skip
"""The calls of each function, in the order of the frameworks in ONES."""
NAMES = ("h", "feats", "scores", "emb", "batch", "state", "grid", "signal", "patches", "acts")
OTHERS = ("gain", "shift", "prior", "offset", "temp", "noise", "w2", "mix", "gate", "decay")
FORMS = (
    "{setup}\nout = {line}",
    "{setup}\ndef step():\n    return {line}\nout = step()",
    "{setup}\nfor _ in range(1):\n    out = {line}",
    "{setup}\nresults = [{line}]",
    "{setup}\nout = ({line}) * 2",
)


class Drawn(NamedTuple):
    """A random program; the fields are those of a Mistake."""

    framework: str
    kind: str
    code: str
    is_fixable: bool
    expected: tuple[str, ...]


class Draw:
    """Draws the parts of a program."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.framework = random.choice([*ONES])
        self.sizes = random.sample(range(2, 40), 8)
        self.a, self.b = random.choice(NAMES), random.choice(OTHERS)

    def ones(self, *shape: int) -> str:
        needs_comma = len(shape) == 1 and self.framework not in ("torch", "paddle")
        return ONES[self.framework].format(", ".join(map(str, shape)) + "," * needs_comma)

    def call(self, function: str, *sizes: int) -> str:
        code = CALLS[function][[*ONES].index(self.framework)]
        return code.replace("N, M", ", ".join(map(str, sizes)))

    def program(
        self,
        kind: str,
        one: tuple[int, ...],
        other: tuple[int, ...],
        line: str,
        fix: tuple[str, ...] = (),
        says: tuple[object, ...] = (),
    ) -> Drawn:
        """Return a program with two arrays, in which a line fails."""
        setup = f"{self.a} = {self.ones(*one)}; {self.b} = {self.ones(*other)}"
        code = self.random.choice(FORMS).format(setup=setup, line=line.format(a=self.a, b=self.b))
        axis = "tf.newaxis" if self.framework == "tensorflow" else "None"
        fixes = (text.format(a=self.a, b=self.b).replace("None", axis) for text in fix)
        expected = tuple(fixes if fix else map(str, says))
        return Drawn(self.framework, kind, code, bool(fix), expected)


def vector(draw: Draw) -> Drawn:
    rank = draw.random.choice((2, 3, 4))
    shape = tuple(draw.sizes[:rank])
    axis = draw.random.randrange(rank - 1)
    code = f"{{b}}[:{', None' * (rank - 1 - axis)}]"
    operator = draw.random.choice("+-*/")
    return draw.program("broadcast", shape, (shape[axis],), f"{{a}} {operator} {{b}}", fix=(code,))


def unrelated(draw: Draw) -> Drawn:
    n, m, k = draw.sizes[:3]
    line = draw.random.choice(("{a} - {b}", "{b} * {a}", draw.call("maximum")))
    return draw.program("broadcast", (n, m), (n, k), line, says=(m, k))


def transposed(draw: Draw) -> Drawn:
    n, m, k = draw.sizes[:3]
    line = draw.random.choice(("{a} @ {b}", draw.call("product")))
    fixes = ("{b}.T", "{b}.swapaxes(-1, -2)", "matrix_transpose({b})", "transpose_b=True")
    return draw.program("product", (n, m), (k, m), line, fixes)


def product(draw: Draw) -> Drawn:
    n, m, k, p = draw.sizes[:4]
    return draw.program("product", (n, m), (k, p), "{a} @ {b}", says=(m, k))


def stacks(draw: Draw) -> Drawn:
    n, m, k, p = draw.sizes[:4]
    return draw.program("product", (n, m, k), (p, k, m), "{a} @ {b}", says=(n, p))


def joined(draw: Draw) -> Drawn:
    n, m, k = draw.sizes[:3]
    return draw.program("other", (n, m), (n, k), draw.call("join"), says=(m, k))


def stacked(draw: Draw) -> Drawn:
    n, m = draw.sizes[:2]
    return draw.program("other", (n,), (m,), draw.call("stack"), says=("Joined",))


def reshaped(draw: Draw) -> Drawn:
    n, m, k = draw.sizes[:3]
    return draw.program("other", (n, m), (1,), draw.call("reshape", n, k), says=(n * m,))


def expanded(draw: Draw) -> Drawn:
    n, m = draw.sizes[:2]
    return draw.program("broadcast", (1,), (n,), draw.call("expand", n, m), ("{b}[:, None]",))


def equation(draw: Draw) -> Drawn:
    n, m, k, p = draw.sizes[:4]
    return draw.program("broadcast", (n, m), (k, p), draw.call("einsum"), says=(m, k))


def added_in_place(draw: Draw) -> Drawn:
    draw.framework = draw.random.choice(("numpy", "torch"))
    n, m = draw.sizes[:2]
    setup = f"{draw.b} = {draw.ones(m)}; {draw.a} = {draw.ones(n, m)}"
    code = f"{setup}\n{draw.b} += {draw.a}"
    return Drawn(draw.framework, "broadcast", code, True, (f"{draw.b} = {draw.b} + {draw.a}",))


def assigned(draw: Draw) -> Drawn:
    draw.framework = draw.random.choice(("numpy", "torch", "mlx"))
    n, m, k = draw.sizes[:3]
    setup = f"{draw.b} = {draw.ones(k)}; {draw.a} = {draw.ones(n, m)}"
    return Drawn(draw.framework, "broadcast", f"{setup}\n{draw.a}[:, 0] = {draw.b}", False, (str(n), str(k)))


def masked(draw: Draw) -> Drawn:
    draw.framework = draw.random.choice(("numpy", "torch"))
    n, m = draw.sizes[:2]
    setup = f"{draw.a} = {draw.ones(n, m)}; {draw.b} = {draw.ones(m)} > 0"
    return Drawn(draw.framework, "other", f"{setup}\nout = {draw.a}[{draw.b}]", False, (str(n), str(m)))


def linear(draw: Draw) -> Drawn:
    draw.framework = "torch"
    n, m, k, p = draw.sizes[:4]
    draw.a = draw.random.choice(NAMES)
    setup = f"layer = nn.Linear({m}, {p}); {draw.a} = {draw.ones(n, k)}"
    forms = (f"{setup}\nout = layer({draw.a})", f"{setup}\nout = nn.Sequential(nn.ReLU(), layer)({draw.a})")
    return Drawn("torch", "product", draw.random.choice(forms), True, (f"in_features={k}",))


def flattened(draw: Draw) -> Drawn:
    c, p, wrong = *draw.sizes[:2], draw.sizes[2] + 40  # no other argument has this value
    side = draw.random.choice((9, 12, 15))
    code = f"""class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, {c}, 3), nn.ReLU())
        self.head = nn.Linear({wrong}, {p})
    def forward(self, x):
        x = self.features(x)
        return self.head(x.flatten(1))
Model()(torch.ones(2, 1, {side}, {side}))"""
    return Drawn("torch", "product", code, True, (f"in_features={c * (side - 2) ** 2}",))


def channel_bias(draw: Draw) -> Drawn:
    c, side = draw.sizes[0] + 40, draw.sizes[1]
    code = f"""class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, {c}, 1)
        self.{draw.b} = nn.Parameter(torch.zeros({c}))
    def forward(self, {draw.a}):
        return self.conv({draw.a}) * self.{draw.b}
Block()(torch.ones(1, 2, {side}, {side}))"""
    return Drawn("torch", "broadcast", code, True, (f"self.{draw.b}[:, None, None]",))


def layers(draw: Draw) -> Drawn:
    n, m, k, p = draw.sizes[:4]
    code, facts = draw.random.choice(
        (
            (f"nn.Conv2d({m}, {p}, 1)(torch.ones(2, {k}, 5, 5))", (m, k)),
            (f"nn.BatchNorm2d({m})(torch.ones(2, {k}, 5, 5))", (m, k)),
            (f"nn.LayerNorm({m})(torch.ones(2, {k}))", (m, k)),
            (f"nn.LSTM({m}, {p})(torch.ones(5, 2, {k}))", (m, k)),
            (f"nn.Embedding({m}, 4)(torch.tensor([{m}]))", ("embedding",)),
            (f"F.cross_entropy(torch.ones({n}, 5), torch.zeros({m}, dtype=torch.long))", (n, m)),
            (f"F.mse_loss(torch.ones({n}, {m}), torch.ones({n}, {k}))", (m, k)),
            (f"F.binary_cross_entropy(torch.ones({n}, 1), torch.ones({m}))", (n, m)),
            (f"nn.Conv1d(3, 4, {m + 40})(torch.ones(2, 3, {n}))", (m + 40, n)),
            (f"nn.GroupNorm(2, {2 * m})(torch.ones(2, {2 * k}, 4))", (2 * m, 2 * k)),
            (f"nn.ConvTranspose2d({m}, 4, 2)(torch.ones(2, {k}, 5, 5))", (m, k)),
            (f"nn.RNN({m}, {p}, batch_first=True)(torch.ones(2, 5, {k}))", (m, k)),
            (f"nn.TransformerEncoderLayer({4 * m}, 4)(torch.ones(5, 2, {4 * k}))", (4 * m, 4 * k)),
            (f"torch.ones({n}, {m}).index_select(0, torch.tensor([{n}]))", (n,)),
            (f"torch.ones({n}, {m}).T.view({n}, {m}).T.view(-1)", ("reshape",)),
            (f"torch.ones({n}, {m}).squeeze(0).unflatten(0, ({k}, {p}))", (n,)),
        )
    )
    return Drawn("torch", "other", f"out = {code}", False, tuple(map(str, facts)))


def tables(draw: Draw) -> Drawn:
    n, m, k = draw.sizes[:3]
    framework, code, facts = draw.random.choice(
        (
            ("pandas", f"df = pd.DataFrame(np.ones(({n}, {m})))\ndf['total'] = np.ones({k})", (n, k)),
            ("pandas", f"df = pd.DataFrame(np.ones(({n}, {m})))\nout = df * np.ones({k})", (m, k)),
            ("pandas", f"df = pd.DataFrame(np.ones(({n}, {m})))\nout = df.loc[np.ones({k}, bool)]", (n, k)),
            ("pandas", f"s = pd.Series(np.ones({n}))\ns.index = range({k})", (n, k)),
            ("pandas", f"s = pd.Series(np.ones({n}), index=range({k}))", (n, k)),
            (
                "sklearn",
                f"from sklearn.linear_model import Ridge\nRidge().fit(np.ones(({n}, {m})), np.ones({k}))",
                (n, k),
            ),
            (
                "sklearn",
                f"import sklearn.decomposition as d\nd.PCA(1).fit(np.ones(({n}, {m}))).transform(np.ones(({n}, {k})))",
                (m, k),
            ),
            ("sklearn", f"from sklearn.metrics import r2_score\nr2_score(np.ones({n}), np.ones({k}))", (n, k)),
            ("xarray", f"out = xr.DataArray(np.ones({n}), dims='t') * xr.DataArray(np.ones({k}), dims='t')", (n, k)),
            ("polars", f"out = pl.DataFrame({{'p': range({n}), 'q': range({k})}})", (n, k)),
            ("scipy", f"from scipy.stats import linregress\nlinregress(np.ones({n}), np.ones({k}))", (n, k)),
            ("numpy", f"out = np.cov(np.ones({n}), np.ones({k}))", (n, k)),
            ("numpy", f"out = np.linalg.solve(np.eye({n}), np.ones(({k}, 2)))", (n, k)),
            ("numpy", f"out = np.ones(({n}, {m}))[{n}]", (n,)),
            ("numpy", f"out = np.take(np.ones({n}), {n + 3})", (n, n + 3)),
            ("numpy", f"out = np.hstack([np.ones(({n}, {m})), np.ones(({k}, {m}))])", (n, k)),
            ("numpy", f"out = np.polyfit(np.arange({n}), np.arange({k}), 1)", ("elements",)),
            ("einops", f"out = rearrange(np.ones(({n}, {m})), 'a (b c) -> a b c', b={m + 1})", (m, m + 1)),
        )
    )
    return Drawn(framework, "other", code, False, tuple(map(str, facts)))


KINDS: tuple[Callable[[Draw], Drawn], ...] = (
    vector, vector, vector, unrelated, unrelated, transposed, transposed, product, stacks, joined, stacked, reshaped,
    expanded, equation, added_in_place, assigned, masked, linear, flattened, channel_bias, layers, layers, layers,
    layers, tables, tables, tables, tables,
)  # fmt: skip


def drawn(count: int, seed: int) -> Iterator[Drawn]:
    """Yield random programs."""
    random = Random(seed)
    for _ in range(count):
        yield random.choice(KINDS)(Draw(random))
