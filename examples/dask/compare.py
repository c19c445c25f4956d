"""Compare every byte of the Zarr file that broadcast.py has written with NumPy's result, window by window."""

import sys
from itertools import product

import numpy as np
import zarr
from broadcast import chunks, shape, x

stored, expected = zarr.open_array(sys.argv[1], mode="r"), np.broadcast_to(x, shape)
compared = differing = 0
for start in product(*map(range, [0, 0, 0], shape, chunks)):
    window = tuple(slice(first, first + size) for first, size in zip(start, chunks, strict=True))
    found = stored[window].view(np.uint8)
    compared += found.size
    differing += np.count_nonzero(found != np.ascontiguousarray(expected[window]).view(np.uint8))
print(f"{compared} bytes compared, {differing} differ")
