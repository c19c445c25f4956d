"""The messages of JAX: see record.py."""

import jax
import jax.numpy as jnp
from jax import lax
from record import Recorder

rec = Recorder("jax", jax.__version__, {"jax": jax, "jnp": jnp, "lax": lax, "z": jnp.zeros})
case, other = rec.broadcast, rec.other

case("z((3, 4)) + z(5)", "jax.numpy.add", (3, 4), (5,))
case("z((2, 64, 7, 7)) * z(64)", "jax.numpy.add", (2, 64, 7, 7), (64,), whole=True)
case("z((8, 1, 6)) > z((7, 2, 5))", "jax.numpy.add", (8, 1, 6), (7, 2, 5))
case("jnp.maximum(z((2, 3)), z((3, 2)))", "jax.numpy.add", (2, 3), (3, 2))
case("jnp.power(z(2), z(3))", "jax.numpy.add", (2,), (3,))
case("jnp.subtract(z((0, 3)), z((2, 3)))", "jax.numpy.add", (0, 3), (2, 3))
case("jnp.where(z((2, 3)) > 0, z(4), z(1))", "jax.numpy.broadcast_arrays", (2, 3), (4,), (1,))
case("jnp.where(z((2, 3)) > 0, z((2, 4)), 0.0)", "jax.numpy.broadcast_arrays", (2, 3), (2, 4), ())
case("jnp.clip(z((4, 2)), z(3), z(2))", "jax.numpy.add", (3,), (4, 2))
case("jnp.broadcast_arrays(z(3), z(4))", "jax.numpy.broadcast_arrays", (3,), (4,))
case("jnp.broadcast_arrays(z((2, 5)), z(1), z((8, 4)))", "jax.numpy.broadcast_arrays", (2, 5), (1,), (8, 4))
case("jnp.broadcast_shapes((6, 7), (5, 6, 1), (3,))", "jax.numpy.broadcast_shapes", (6, 7), (5, 6, 1), (3,))
case("jnp.broadcast_to(z(3), (2, 4))", "jax.numpy.broadcast_to", (3,), shape=[2, 4])
case("jnp.broadcast_to(z((2, 3)), (3,))", "jax.numpy.broadcast_to", (2, 3), shape=[3])
case("jnp.broadcast_to(z((5, 3)), (4, 5, 2))", "jax.numpy.broadcast_to", (5, 3), shape=[4, 5, 2])
case("z((2, 3)).at[:].set(z(4))", "jax.numpy.broadcast_to", (4,), shape=[2, 3])
case("z((6, 2)).at[jnp.array([0, 1])].add(z((3, 2)))", "jax.numpy.broadcast_to", (3, 2), shape=[2, 2])
case("z((5, 5))[jnp.array([0, 1]), jnp.array([0, 1, 2])]", "jax.numpy.broadcast_arrays", (2,), (3,))
case("lax.add(z((3, 4)), z((4,)))", "jax.lax.add", (3, 4), (4,))
case("lax.add(z((3, 4)), z((3, 5)))", "jax.numpy.add", (3, 4), (3, 5))
case("lax.mul(z((2,)), z((7,)))", "jax.numpy.add", (2,), (7,))
other("lax.select(z((2, 3)) > 0, z((2, 4)), z((2, 4)))")
other("lax.clamp(z((2,)), z((3,)), z((3,)))")
case(
    "lax.broadcast_in_dim(z(3), (2, 4), (1,))",
    "stablehlo.broadcast_in_dim",
    (3,),
    shape=[2, 4],
    broadcast_dimensions=[1],
)
case(
    "lax.broadcast_in_dim(z((3, 1)), (3, 5, 7), (1, 2))",
    "stablehlo.broadcast_in_dim",
    (3, 1),
    shape=[3, 5, 7],
    broadcast_dimensions=[1, 2],
)
case("z((2, 3)) @ z((4, 5))", "jax.numpy.matmul", (2, 3), (4, 5))
case("jnp.matmul(z((2, 3, 4)), z((5, 4, 6)))", "jax.numpy.matmul", (2, 3, 4), (5, 4, 6))
case("z((7, 3)) @ z(4)", "jax.numpy.matmul", (7, 3), (4,))
case("jnp.dot(z((2, 3)), z((4, 5)))", "jax.numpy.matmul", (2, 3), (4, 5))
case("jax.vmap(jnp.add)(z((3, 4)), z((3, 5)))", "jax.numpy.add", (4,), (5,))
case("jax.jit(lambda x, y: x + y)(z((3, 4)), z(5))", "jax.numpy.add", (3, 4), (5,), whole=True)
case("jax.grad(lambda x: (x - z(5)).sum())(z((3, 4)))", "jax.numpy.add", (3, 4), (5,), whole=True)
case("z((2, 3)).at[0].set(z((4, 3)))", "jax.numpy.broadcast_to", (4, 3), shape=[3])
case("jnp.isclose(z((2, 2)), z(3))", "jax.numpy.add", (2, 2), (3,))
case("jax.random.normal(jax.random.key(0), (3,)) + z((2, 4))", "jax.numpy.add", (3,), (2, 4))
case("jax.random.uniform(jax.random.key(0), (2, 3), minval=z(4))", "jax.numpy.add", (2, 3), (1, 4))
case("jnp.vectorize(lambda a, b: a + b)(z((3, 4)), z((2, 5)))", "jax.numpy.broadcast_arrays", (3, 4), (2, 5))

other("jnp.concatenate([z((2, 3)), z((2, 4))])")
other("jnp.stack([z(3), z(4)])")
other("z(6).reshape(4, 2)", whole=True)
other("z((2, 3)).transpose(0, 1, 2)")
other("jnp.einsum('ij,jk->ik', z((2, 3)), z((4, 5)))")
case(
    "jnp.einsum('ij,jk->ik', z((2, 3)), z((4, 5)))", "jax.numpy.einsum", (2, 3), (4, 5), whole=True,
    equation="ij,jk->ik",
)  # fmt: skip
other("jax.vmap(jnp.add)(z((3, 4)), z((5, 4)))")
other("lax.dot_general(z((2, 3)), z((4, 5)), (((1,), (0,)), ((), ())))")
other("z((2, 3))[0, 0, 0]")
other("z(3)[jnp.ones(4, bool)]")
other("z((2, 3)).sum(5)")
other("jnp.squeeze(z((2, 3)), 0)")
other("lax.add(z(3), jnp.zeros(3, int))")
other("jax.grad(lambda x: x)(z(3))")
other("jax.jit(lambda x: x if x > 0 else -x)(z(()))")
other("jax.jit(lambda x: z(x))(3)")
other("jnp.linalg.inv(z((2, 3)))")
other("lax.conv(z((1, 3, 8, 8)), z((4, 2, 3, 3)), (1, 1), 'SAME')")
other("lax.scan(lambda c, x: (z(4), x), z(3), z(2))")
other("lax.cond(True, lambda: z(3), lambda: z(4))")
other("z(3) + 'text'")
other("bool(z(3))")
other("jnp.split(z(7), 3)")
other("z(3).astype('nonsense')")
other("z(3)[0] = 1")
other("lax.dynamic_slice(z(3), (0,), (5,))")
case("z((7, 4)) / z((7, 3))", "jax.numpy.add", (7, 4), (7, 3))
case("jnp.hypot(z((3, 1, 5)), z((2, 4)))", "jax.numpy.add", (3, 1, 5), (2, 4))
case("jnp.select([z((2, 3)) > 0], [z(4)])", "jax.numpy.broadcast_arrays", (2, 3), (), (4,))
case("jax.nn.relu(z((3, 4)) @ z((4, 2)) + z(5))", "jax.numpy.add", (3, 2), (5,))
case("z((4, 5)).at[:, 1:3].set(jnp.ones((4, 3)))", "jax.numpy.broadcast_to", (4, 3), shape=[4, 2])
case("jax.jit(lambda x: jnp.broadcast_to(x, (2, 5)))(z(4))", "jax.numpy.broadcast_to", (4,), shape=[2, 5])
case("z(3) @ z(4)", None)
case("jax.vmap(lambda a, b: a * b, in_axes=(0, None))(z((3, 4)), z(5))", "jax.numpy.add", (4,), (5,))
case(
    "q = z((2, 8, 4, 16))\njax.nn.dot_product_attention(q, q, q, mask=z((3, 4, 8, 8)) > 0)",
    "jax.numpy.add",
    (2, 4, 8, 8),
    (3, 4, 8, 8),
)
other("jnp.hstack([z((2, 3)), z((3, 3))])")
other("jnp.interp(z(1), z(3), z(4))")
other("lax.select(z(3) > 0, z(4), z(4))")
other("lax.add(z(3), z((2, 3)))")
other("jax.vmap(lambda x: x)(z(()))")
other("jnp.expand_dims(z(3), 4)")
rec.write()
