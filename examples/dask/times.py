"""Compare the time of broadcast.py with dask.array.broadcast_to, for a sum and for a Zarr file of 2 GiB."""

import tempfile
from statistics import median
from time import perf_counter

import dask.array as da
from broadcast import broadcast, chunks, op, shape, x
from dask.distributed import Client, LocalCluster

ROUNDS = 3


def ours():
    return broadcast(op.broadcast_to(shape=shape), x, shape, chunks)


def dasks():
    return da.broadcast_to(da.from_array(x, chunks=(64, 1, 256)), shape, chunks=chunks)


def sum_seconds(array):
    start = perf_counter()
    array.sum(dtype="float64").compute()
    return perf_counter() - start


def zarr_seconds(array):
    with tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        array.to_zarr(f"{folder}/result.zarr")
        return perf_counter() - start


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None) as cluster,
        Client(cluster),
    ):
        print("| work | dask.array.broadcast_to | axiscast in map_blocks | ratio |\n|---|---|---|---|")
        for name, seconds in (("sum", sum_seconds), ("Zarr", zarr_seconds)):
            pairs = [(seconds(dasks()), seconds(ours())) for _ in range(ROUNDS + 1)][1:]  # the first pair warms up
            theirs, own = (median(times) for times in zip(*pairs, strict=True))
            ratio = median(own / theirs for theirs, own in pairs)
            print(f"| {name} | {theirs:.2f} s | {own:.2f} s | {ratio:.2f} |", flush=True)
