"""Write a broadcast result to a Zarr file: each worker of a Dask cluster computes its blocks of the result."""

import sys

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, progress

import axiscast
from axiscast.ops import numpy as op

x = np.arange(1024 * 256, dtype="float32").reshape(1024, 1, 256)
shape, chunks = (1024, 2048, 256), (64, 256, 256)  # 2 GiB in blocks of 16 MiB


def broadcast(op, x, shape, chunks):
    """Return the output of an op of any framework as a Dask array. `shape` is the shape of the output."""

    def block(x, block_info):
        window = block_info[None]["array-location"]  # [(start, stop), ...] on each axis
        return axiscast.broadcast(op, x, window=window)[0]  # a view of x

    blocks = da.core.normalize_chunks(chunks, shape)
    return da.map_blocks(block, x=dask.delayed(x), chunks=blocks, dtype=x.dtype, meta=x[:0])


if __name__ == "__main__":
    array = broadcast(op.broadcast_to(shape=shape), x, shape, chunks)
    # On a cluster of several machines, replace the LocalCluster by the address of the Dask scheduler.
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, memory_limit="256MiB", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        written = client.compute(array.to_zarr(sys.argv[1], compute=False))
        progress(written, notebook=False)
        written.result()  # raises the exception of a worker that failed
    print()
