"""A function of jax. Lines that broadcast (n,) with (n, 1) by mistake are marked."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def loss(weights: Any, x: Any, y: Any) -> Any:
    predicted = x @ weights
    pairs = y[:, None] - y
    others = jnp.expand_dims(y, 1) * y
    more = -y.reshape(-1, 1) + y
    other = jnp.sum(x, axis=1)
    outer = y[:, None] * other
    limits = y >= jnp.expand_dims(other, 1)
    positions = jnp.arange(y.shape[0])
    earlier = jnp.expand_dims(positions, 1)
    mask = earlier <= jnp.arange(y.shape[0])
    column = other[:, None]
    both = jnp.where(mask, y, column)
    totals = jnp.sum(x, axis=1, keepdims=True) - y  # square
    share = y / other.reshape(-1, 1)  # square
    later = column - y  # square
    chosen = jnp.where(y > 0, y, predicted)  # square
    error = (predicted - y) ** 2  # square
    _, steps = jax.lax.scan(lambda carry, row: (carry, (predicted - row).sum()), 0.0, jnp.stack([y, y]))  # square
    double = jnp.concatenate([predicted, predicted]) + jnp.concatenate([y, y])  # square
    each = jax.vmap(lambda value: value * 2.0)(y)
    like = predicted + jnp.zeros_like(y)  # square
    batched = jax.vmap(lambda p, y: p - y)(jnp.stack([predicted, predicted]), jnp.stack([y, y]))  # square
    distances = jnp.hypot(predicted, y)  # square
    again = jnp.hypot(predicted, y)  # square
    meant = jnp.where(y[:, None] > y, y[:, None], y) + jax.vmap(lambda y: jnp.logaddexp(y[:, None], y))(y[None])
    arrays = (pairs, others, more, totals, chosen, error, steps, double, each, like, batched, distances, again, meant)
    arrays += (outer, limits, mask, both, share, later)
    return sum(array.mean() for array in arrays)


def traced() -> Any:
    (n,) = jax.export.symbolic_shape("n")
    shapes = ((2, 1), (n, 2), (n,))
    return jax.jit(loss).trace(*[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes])
