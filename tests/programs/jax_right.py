"""Correct functions of jax with the shapes of jax_bugs.py, in which nothing may be reported."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp

Array = Any


def all_pairs(y: Array) -> Array:
    return jnp.abs(y[:, None] - y).sum()


def all_pairs_of_two_axes(y: Array, v: Array) -> Array:
    return y[:, None] * v[None, :]


def expanded(y: Array) -> Array:
    return jnp.expand_dims(y, 1) * y


def reshaped(y: Array) -> Array:
    return y.reshape(-1, 1) <= y


def all_distances(y: Array) -> Array:
    return jnp.hypot(y[:, None], y)


def all_pairs_in_a_where(y: Array) -> Array:
    return jnp.where(y[:, None] > y, y[:, None], y)


def all_pairs_of_logarithms(y: Array) -> Array:
    return jnp.logaddexp(y[:, None], y)


def all_pairs_of_entropies(y: Array) -> Array:
    return jsp.special.xlogy(jnp.expand_dims(y, -1), y)


def causal_mask(y: Array) -> Array:
    positions = jnp.arange(y.shape[0])
    return jnp.where(positions[:, None] >= positions, 0.0, -1e9)


def batched_pairs(ys: Array) -> Array:
    return jax.vmap(lambda y: y[:, None] - y)(ys)


def batched_pairs_of_pairs(yss: Array) -> Array:
    return jax.vmap(jax.vmap(lambda y: jnp.minimum(y[:, None], y)))(yss)


def pairs_by_vmap(y: Array, v: Array) -> Array:
    return jax.vmap(lambda one: jax.vmap(lambda other: jnp.hypot(one, other))(v))(y)


def batched_rows(ps: Array, ys: Array) -> Array:
    return jax.vmap(lambda p, y: p[:, 0] - y)(ps, ys)


def batched_scale(ps: Array, y: Array) -> Array:
    return jax.vmap(lambda p, scale: p * scale, in_axes=(1, 0))(ps, y)


def squeezed(p: Array, y: Array) -> Array:
    return jnp.mean((p.squeeze(-1) - y) ** 2)


def a_column_of_targets(p: Array, y: Array) -> Array:
    return jnp.hypot(p, y[:, None]) + jnp.zeros(p.shape)


def raveled(p: Array, y: Array) -> Array:
    return jnp.clip(p.ravel() - y, -1, 1) * jnp.ones_like(y)


def bias(x: Array, w: Array, b: Array) -> Array:
    return jax.nn.relu(x @ w + b)


def normalized(x: Array) -> Array:
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, axis=1, keepdims=True) + 1e-6)


def softmax(x: Array) -> Array:
    return jax.nn.softmax(x, axis=-1) * jax.nn.log_softmax(x, axis=-1)


def layer_of_one(p: Array, b: Array) -> Array:
    return p * b + jnp.zeros(1)


def shares_of_rows(x: Array) -> Array:
    return x / x.sum(axis=1, keepdims=True)


def logsumexp(x: Array, y: Array) -> Array:
    return jsp.special.logsumexp(x, axis=1) - y


def scanned(p: Array, ys: Array) -> Array:
    return jax.lax.scan(lambda total, y: (total + jnp.sum(p[:, 0] * y), y - total), 0.0, ys)[1]


def scanned_pairs(ys: Array) -> Array:
    return jax.lax.scan(lambda total, y: (total + (y[:, None] * y).sum(), None), 0.0, ys)[0]


def gradient(w: Array, x: Array, y: Array) -> Array:
    return jax.grad(lambda w: jnp.mean((x @ w - y[:, None]) ** 2))(w)


def hessian(w: Array, x: Array, y: Array) -> Array:
    return jax.hessian(lambda w: jnp.mean((jnp.tanh(x @ w)[:, 0] - y) ** 2))(w)


def weighted_rows(x: Array, y: Array) -> Array:
    return x * y[:, None] + jnp.full((3,), 2.0)


def a_branch(p: Array, y: Array) -> Array:
    return jax.lax.cond(y[0] > 0, lambda p, y: p[:, 0] * y, lambda p, y: y, p, y)


def interpolated(x: Array, p: Array) -> Array:
    return jnp.where(x > 0, x, p) + jnp.copysign(x, p)
