"""The recipe of docs/operations.md, run: 4 GiB into Zarr with little memory, over two services behind a proxy.

    python benchmarks/load/windows.py nginx|haproxy [--mib 512]

When half of the windows are written one of the services gets SIGKILL, and stays away. Every byte is compared with what
it must be. Needs dask[array] and zarr. Exit status 1 where the recipe failed or a byte is wrong.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr
from rolling import free_port, start_proxy, start_service

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
WINDOWS = 64


def written(result: Path) -> int:
    return sum(path.is_file() for path in result.glob("c/**/*"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxy", choices=["nginx", "haproxy"])
    parser.add_argument("--mib", type=int, default=512, help="memory that the recipe may take")
    options = parser.parse_args()
    (recipe,) = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text())
    front, ports = free_port(), [free_port(), free_port()]
    services = [start_service(port) for port in ports]
    memory = options.mib * 2**20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = folder / "result.zarr"
        processes = [*services, start_proxy(options.proxy, folder, front, ports)]
        try:
            began = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-c", recipe.replace(":8080", f":{front}")],
                cwd=folder,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)),
            )
            processes.append(process)
            while written(result) < WINDOWS // 2 and process.poll() is None:
                time.sleep(0.01)
            killed = written(result)
            services[0].kill()
            status = process.wait()
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024  # the one that has ended
            took = time.monotonic() - began
        finally:
            for each in processes:
                each.terminate()
                each.wait(60)
        print(f"{options.proxy}: exit status {status} after {took:.0f} s; {written(result)} windows written", end=", ")
        print(f"{killed} of them when a service was killed; {peak} MiB of memory at the most")
        array = zarr.open_array(result, mode="r")
        expected = np.arange(1024 * 256, dtype="float32").reshape(1024, 1, 256)
        right = 0
        for start in range(0, 1024, 16):
            found = array[start : start + 16]
            right += found.nbytes * bool((found == expected[start : start + 16]).all())
    print(f"{right} of {4 * 2**30} bytes are right")
    return status or right != 4 * 2**30


if __name__ == "__main__":
    sys.exit(main())
