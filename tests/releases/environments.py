"""What pip and npm install for each framework, and where; the frameworks that can't be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ENVIRONMENTS: dict[str, list[str]] = {
    "numpy": ["numpy==2.4.6"],
    "array_api": ["array-api-strict==2.6.1", "numpy==2.4.6"],
    "torch": ["torch==2.13.0", "numpy"],
    "jax": ["jax==0.10.2", "jaxlib==0.10.2"],
    "tensorflow": ["tensorflow==2.21.0"],
    "tfjs": ["@tensorflow/tfjs==4.22.0", "numpy"],
    "litert": ["ai-edge-litert==2.3.0", "numpy"],
    "keras": ["keras==3.15.1", "tensorflow==2.21.0"],
    "paddle": ["paddlepaddle==3.3.1"],
    "mindspore": ["mindspore==2.10.0", "numpy<2"],
    "mxnet": ["mxnet==1.9.1", "numpy<1.24"],
    "dask": ["dask==2026.8.0", "numpy==2.4.6"],
    "xarray": ["xarray==2026.9.0", "numpy==2.4.6"],
    "einops": ["einops==0.8.2", "torch==2.13.0", "numpy"],
    "opt_einsum": ["opt_einsum==3.4.0", "numpy==2.4.6"],
    "mlx": ["mlx[cpu]==0.32.4", "numpy"],
    "tinygrad": ["tinygrad==0.14.0", "numpy"],
    "onnx": ["onnx==1.23.2", "onnxruntime==1.32.0"],
    "openvino": ["openvino==2026.4.1"],
}
"""A package whose name begins with @ is from npm."""
NOT_RUN: dict[str, str] = {
    "ngraph": "no package of nGraph 0.26 is published for this Python",
    "poputil": "the SDK with poplibs is closed",
    "julia": "no package on PyPI",
    "octave": "an application, not a package; its vectors are run by octave-cli",
    "stablehlo": "no condition; its vectors are run by the StableHLO verifier",
    "xla": "no condition; its vectors are run by jaxlib 0.4.38",
    "ggml": "no package of its own; its vectors are run by the libraries in pywhispercpp 1.5.1",
    "linalg": "no condition; its vectors are run by iree",
}


def python_of(framework: str, folder: Path, packages: list[str] | None = None) -> Path:
    """The interpreter of a framework's environment in `folder`, which is made if it is not there."""
    place = folder / framework
    python, done = place / "bin" / "python", place / "done"
    if not python.exists() or (not done.exists() and not place.is_symlink()):
        packages = packages or ENVIRONMENTS[framework]
        print(f"Installing {', '.join(packages)} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*pip, *(package for package in packages if package[0] != "@")], check=True)
        if npm := [package.replace("==", "@") for package in packages if package[0] == "@"]:
            subprocess.run(["npm", "install", "--silent", "--prefix", place, *npm], check=True)
        done.touch()
    return python
