"""Functions of jax that broadcast (n,) with (n, 1) by mistake, on the lines that end with `# square`. They need jax.

The forms are those of reports: a regression whose targets lack an axis (jax-ml/jax#2697, HIPS/Kayak#14,
Lasagne/Lasagne#755), a critic of shape (n, 1) beside returns of shape (n,) (RLinf/RLinf#1568, thu-ml/tianshou#155),
a reward of shape (1,) below vmap (RobertTLange/gymnax#43), a log-probability (probml/dynamax#22), a loss without the
check that optax makes (google-deepmind/optax#1408).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp

Array = Any

SHAPES: dict[str, tuple[int | str, ...]] = {
    "p": ("n", 1), "y": ("n",), "v": ("n",), "x": ("n", 3), "w": (3, 1), "b": (1,), "key": (2,),
    "ps": (4, "n", 1), "ys": (4, "n"), "pss": (4, 5, "n", 1), "yss": (4, 5, "n"),
}  # fmt: skip
"""The shapes of the parameters, by name."""


def zeros_of_a_shape(p: Array, y: Array) -> Array:
    return p + jnp.zeros(y.shape)  # square


def zeros_like(p: Array, y: Array) -> Array:
    return jnp.where(p > 0, p, jnp.zeros_like(y))  # square


def full_like(p: Array, y: Array) -> Array:
    weights = jnp.full_like(y, 0.5)
    return jnp.mean(weights * p)  # square


def ones_and_arange(p: Array, y: Array) -> Array:
    discounts = 0.99 ** jnp.arange(y.shape[0])
    return jnp.sum(discounts * p)  # square


def log_likelihood(p: Array, y: Array) -> Array:
    return jnp.logaddexp(p, y).mean()  # square


def distance(p: Array, y: Array) -> Array:
    return jnp.hypot(p, y).sum()  # square


def signs(p: Array, y: Array) -> Array:
    return jnp.copysign(p, y)  # square


def cross_entropy(p: Array, y: Array) -> Array:
    return -jsp.special.xlogy(y, jax.nn.sigmoid(p)).mean()  # square


def log_of_one_plus(p: Array, y: Array) -> Array:
    return jsp.special.xlog1py(1 - y, -jax.nn.sigmoid(p)).sum()  # square


def batched_difference(ps: Array, ys: Array) -> Array:
    return jax.vmap(lambda p, y: p - y)(ps, ys)  # square


def batched_loss(ps: Array, ys: Array) -> Array:
    def loss(p: Array, y: Array) -> Array:
        return jnp.mean((p - y) ** 2)  # square

    return jax.vmap(loss)(ps, ys)


def batched_twice(pss: Array, yss: Array) -> Array:
    return jax.vmap(jax.vmap(lambda p, y: jnp.maximum(p, y)))(pss, yss)  # square


def batched_on_one_side(ps: Array, y: Array) -> Array:
    return jax.vmap(lambda p, y: p * y, in_axes=(0, None))(ps, y)  # square


def batched_on_the_other_side(p: Array, ys: Array) -> Array:
    return jax.vmap(lambda p, y: p * y, in_axes=(None, 0))(p, ys)  # square


def reward_of_one_value(x: Array, v: Array) -> Array:
    rewards = jax.vmap(lambda state: -state[:1] * 2)(x)
    return v * rewards  # square


def regression(x: Array, w: Array, b: Array, y: Array) -> Array:
    predicted = jnp.dot(x, w) + b
    return jnp.mean(jnp.square(predicted - y))  # square


def gradient_of_a_regression(w: Array, x: Array, y: Array) -> Array:
    def loss(w: Array) -> Array:
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)  # square

    return jax.grad(loss)(w)


def value_and_gradient_of_huber(w: Array, x: Array, y: Array) -> Array:
    def loss(w: Array) -> Array:
        errors = jnp.abs(jax.nn.relu(x @ w) - y)  # square
        quadratic = jnp.minimum(errors, 1.0)
        return (0.5 * quadratic**2 + (errors - quadratic)).mean()

    return jax.value_and_grad(loss)(w)


def advantage(x: Array, w: Array, y: Array) -> Array:
    values = x @ w
    return jax.lax.stop_gradient(y - values).mean()  # square


def clipped_values(p: Array, y: Array, v: Array) -> Array:
    clipped = v + jnp.clip(p - v, -0.2, 0.2)  # square
    return jnp.maximum((clipped - y) ** 2, 0).mean()


def clip_between_arrays(p: Array, y: Array) -> Array:
    return jnp.clip(p, -jnp.abs(y), jnp.abs(y))  # square


def chosen_by_select(p: Array, y: Array) -> Array:
    return jnp.select([y > 0], [p], 0.0)  # square


def chosen_by_where(p: Array, y: Array) -> Array:
    return jnp.where(y > 0, p, 0.0)  # square


def temporal_difference(p: Array, y: Array, v: Array) -> Array:
    following = 0.99 * (1.0 - v) * p  # square
    return y[:, None] + following


def log_probability(p: Array, y: Array) -> Array:
    return jsp.stats.norm.logpdf(y, p, 1.0).sum()  # square


def jitted_loss(p: Array, y: Array) -> Array:
    @jax.jit
    def loss(p: Array, y: Array) -> Array:
        return jnp.abs(p - y).mean()  # square

    return loss(p, y) + loss(p, y)


def two_calls_of_one_function(p: Array, y: Array) -> Array:
    first = jnp.hypot(p, y)  # square
    second = jnp.hypot(p, y)  # square
    return first + second


def scanned_steps(p: Array, ys: Array) -> Array:
    def step(total: Array, y: Array) -> tuple[Array, None]:
        return total + jnp.sum((p - y) ** 2), None  # square

    return jax.lax.scan(step, 0.0, ys)[0]


def a_carry_of_one_axis(p: Array, y: Array) -> Array:
    def step(carry: Array, _: None) -> tuple[Array, Array]:
        return carry * 0.9, carry + p  # square

    return jax.lax.scan(step, y, None, length=3)[1]


def while_it_is_far(p: Array, y: Array) -> Array:
    def body(state: tuple[Array, Array]) -> tuple[Array, Array]:
        error, number = state
        return jnp.abs(p - y).mean() + error, number + 1  # square

    return jax.lax.while_loop(lambda state: state[1] < 3, body, (0.0, 0))[0]


def a_loop_of_steps(p: Array, y: Array) -> Array:
    return jax.lax.fori_loop(0, 3, lambda _, total: total + jnp.sum(y / p), 0.0)  # square


def one_branch(p: Array, y: Array) -> Array:
    return jax.lax.cond(y[0] > 0, lambda p, y: jnp.sum(p * y), lambda p, y: jnp.sum(p), p, y)  # square


def custom_gradient(p: Array, y: Array) -> Array:
    @jax.custom_vjp
    def loss(p: Array, y: Array) -> Array:
        return jnp.sum((p - y) ** 2)  # square

    loss.defvjp(lambda p, y: (loss(p, y), (p, y)), lambda saved, g: (g * saved[0], g * saved[1]))
    return loss(p, y)


def custom_tangent(p: Array, y: Array) -> Array:
    @jax.custom_jvp
    def loss(p: Array, y: Array) -> Array:
        return jnp.exp(p - y).sum()  # square

    loss.defjvps(lambda t, ans, p, y: t.sum(), lambda t, ans, p, y: -t.sum())
    return loss(p, y)


def checkpointed(p: Array, y: Array) -> Array:
    return jax.checkpoint(lambda p, y: jnp.sin(p - y).sum())(p, y)  # square


def masked_mean(p: Array, y: Array) -> Array:
    mask = (y > 0).astype(jnp.float32)
    return (p * mask).sum() / mask.sum()  # square


def a_comparison(p: Array, y: Array) -> Array:
    return jnp.mean((p > 0) == (y > 0))  # square


def nearly_equal(p: Array, y: Array) -> Array:
    return jnp.isclose(p, y).mean()  # square


def a_power(p: Array, y: Array) -> Array:
    return jnp.sum(jnp.power(jnp.abs(p), y))  # square


def angles(p: Array, y: Array) -> Array:
    return jnp.arctan2(p, y).mean()  # square


def after_a_sum(p: Array, x: Array) -> Array:
    return p - x.sum(axis=1)  # square


def after_a_concatenation(p: Array, y: Array) -> Array:
    return jnp.concatenate([p, p]) - jnp.concatenate([y, y])  # square


def noise(p: Array, y: Array, key: Array) -> Array:
    return p + 0.1 * jax.random.normal(key.astype(jnp.uint32), y.shape)  # square


def of_two_types(p: Array, y: Array) -> Array:
    return p.astype(jnp.bfloat16) * y.astype(jnp.int32)  # square


def in_place(p: Array, y: Array) -> Array:
    total = jnp.ones_like(y)
    total *= p  # square
    return total


def mean_of_two(p: Array, y: Array) -> Array:
    return jnp.average(jnp.add(p, y))  # square


def entropy(p: Array, y: Array) -> Array:
    return jsp.special.rel_entr(jax.nn.sigmoid(p), y).sum()  # square


def vectorized(p: Array, y: Array) -> Array:
    return jnp.vectorize(lambda a, b: a * jnp.exp(b))(p, y)  # square


def mixed_by_einsum(p: Array, x: Array, y: Array) -> Array:
    return jnp.einsum("ni,nj->n", x, x) * p + y[:, None]  # square


def logits_and_labels(p: Array, y: Array) -> Array:
    return jnp.mean(jax.nn.softplus(p) - p * y)  # square


def a_step_of_momentum(p: Array, y: Array) -> Array:
    return jax.tree.map(lambda one, other: 0.9 * one + other, {"a": p}, {"a": y})["a"]  # square


def keepdims_of_rows(x: Array, y: Array) -> Array:
    return x.sum(axis=1, keepdims=True) * y  # square


def exponents(p: Array, y: Array) -> Array:
    return jnp.ldexp(p, y.astype(jnp.int32)).sum()  # square
