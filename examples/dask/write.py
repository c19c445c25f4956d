"""Write a broadcast result to a Zarr file with Dask: each worker requests windows of the result and writes them."""

import sys

import dask.array as da
import numpy as np
from dask.distributed import Client as Workers
from dask.distributed import LocalCluster, progress

from axiscast import Client
from axiscast.ops import numpy as op

x = np.arange(1024 * 256, dtype="float32").reshape(1024, 1, 256)
shape, chunks = (1024, 2048, 256), (64, 256, 256)  # 2 GiB in windows of 16 MiB


def window(url, x, block_info):
    """Return one window of the result. A worker runs this function, so it needs its own client."""
    where = block_info[None]["array-location"]  # [(start, stop), ...] on each axis
    with Client(url, retries=5) as client:
        return client.broadcast(op.broadcast_to(shape=shape), x, window=where)[0]


if __name__ == "__main__":
    url, path = sys.argv[1:]
    blocks = da.core.normalize_chunks(chunks, shape)
    array = da.map_blocks(window, url, x, chunks=blocks, dtype=x.dtype, meta=x[:0])
    # On a cluster of several machines, replace the LocalCluster by the address of the Dask scheduler.
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, memory_limit="256MiB", dashboard_address=None) as cluster,
        Workers(cluster) as workers,
    ):
        written = workers.compute(array.to_zarr(path, compute=False))
        progress(written, notebook=False)
        written.result()  # raises the exception of a worker that failed
    print()
