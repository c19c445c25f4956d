"""Remove everything from the image's environment that a running service does not use, and write its bytecode.

    python deploy/trim.py /opt/axiscast

The Dockerfile runs this. The same environment gives the same files, byte for byte.
"""

from __future__ import annotations

import compileall
import os
import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

UNUSED = (
    "**/tests", "**/__pycache__", "**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.proto", "**/*.a", "**/*.h",
    # build tools, tests and random numbers: numpy imports these only on request
    "numpy/distutils", "numpy/f2py", "numpy/random", "numpy/testing", "numpy/_core/_simd.*", "numpy/_core/*_tests.*",
    "fastapi_offline/static/redoc*",
)  # fmt: skip
"""Files and folders of site-packages. The service has no ReDoc page."""
COMMANDS = ("axiscast", "python*")


def main(environment: Path) -> None:
    (site,) = environment.glob("lib/python3*/site-packages")
    for path in sorted(unused(environment, site)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for library in site.rglob("*.so*"):
        library.write_bytes(stripped(library.read_bytes()))
    # Nothing can write bytecode later, and neither the bytecode nor the sources change. So it is valid without a check.
    # More than one worker would give different bytecode, which depends on the files that a process compiled before.
    if not compileall.compile_dir(site, quiet=1, workers=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH):
        sys.exit(f"some files of {site} can't be compiled")


def unused(environment: Path, site: Path) -> Iterator[Path]:
    for pattern in UNUSED:
        yield from site.glob(pattern)
    commands = environment / "bin"
    needed = {path for pattern in COMMANDS for path in commands.glob(pattern)}
    yield from set(commands.iterdir()) - needed


def stripped(elf: bytes) -> bytes:
    """Return a shared library without everything that follows its loaded segments: symbols and debug information.

    The format is ELF-64 in little-endian order, as on x86-64 and arm64. Other files are returned unchanged.
    """
    if elf[:6] != b"\x7fELF\x02\x01":
        return elf
    (programs,) = struct.unpack_from("<Q", elf, 32)
    entry_bytes, entries = struct.unpack_from("<HH", elf, 54)
    ends = [64, programs + entry_bytes * entries]
    for entry in range(entries):
        offset, _, _, file_bytes = struct.unpack_from("<4Q", elf, programs + entry_bytes * entry + 8)
        ends.append(offset + file_bytes)
    head = bytearray(elf[:64])
    struct.pack_into("<Q", head, 40, 0)  # without a table of sections, which is at the end
    struct.pack_into("<HH", head, 60, 0, 0)
    return bytes(head) + elf[64 : max(ends)]


if __name__ == "__main__":
    os.umask(0o022)
    main(Path(sys.argv[1]))
