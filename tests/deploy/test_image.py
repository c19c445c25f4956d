"""Tests of the scripts that build the image. `make image-test` and `make image-reproducible` build it."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from pathlib import Path

import msgpack
import pytest
from conftest import run
from deployment import DEPLOY, ROOT

TRIM = runpy.run_path(str(DEPLOY / "trim.py"))


# --- what the image leaves out ---


@pytest.mark.skipif(sys.platform != "linux", reason="the image is for Linux")
def test_a_stripped_library_is_smaller_and_works(tmp_path: Path) -> None:
    shutil.copytree(Path(msgpack.__file__).parent, tmp_path / "msgpack")
    (library,) = (tmp_path / "msgpack").glob("_cmsgpack*.so")
    whole = library.read_bytes()
    stripped = TRIM["stripped"](whole)
    assert len(stripped) < len(whole) / 2  # most of it is debug information
    assert TRIM["stripped"](stripped) == stripped
    library.write_bytes(stripped)
    program = "from msgpack import _cmsgpack as c; print(c.__file__, c.Packer().pack([1, 2]) == bytes([146, 1, 2]))"
    done = run([sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert (done.stdout, done.stderr) == (f"{library} True\n", "")


def test_other_files_are_not_stripped() -> None:
    for content in (b"", b"GROUP ( libc.so.6 )", b"\x7fELF\x01\x01" + bytes(60)):  # the last one has 32 bits
        assert TRIM["stripped"](content) == content


def test_trimming_two_equal_environments_gives_equal_files(tmp_path: Path) -> None:
    written = []
    for folder in ("one", "two"):
        site = tmp_path / folder / "environment/lib/python3.12/site-packages"
        for name in (
            "numpy/random/mtrand.so",
            "numpy/_core/_simd.x.so",
            "numpy/__init__.py",
            "a/tests/b.py",
            "a/c.pyi",
        ):
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text("x = {'b', 'a'}\n")
        commands = tmp_path / folder / "environment/bin"
        commands.mkdir()
        for name in ("axiscast", "python", "f2py", "activate"):
            (commands / name).touch()
        done = run([sys.executable, DEPLOY / "trim.py", "environment"], cwd=tmp_path / folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        files = [path for path in (tmp_path / folder).rglob("*") if path.is_file()]
        written.append({str(path.relative_to(tmp_path / folder)): path.read_bytes() for path in files})
    assert written[0] == written[1]
    left = {name.removeprefix("environment/") for name in written[0]}
    site_name = "lib/python3.12/site-packages/numpy"
    cached = f"{site_name}/__pycache__/__init__.{sys.implementation.cache_tag}.pyc"
    assert left == {"bin/axiscast", "bin/python", f"{site_name}/__init__.py", cached}
    assert written[0][f"environment/{cached}"][4:8] == b"\x01\0\0\0"  # PEP 552: a hash that is not checked


# --- labels ---


def test_the_labels_name_the_commit_and_its_date(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = runpy.run_path(str(DEPLOY / "image.py"))["labels"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    named = {name.removeprefix("org.opencontainers.image."): value for name, value in labels().items()}
    assert named.pop("created") == "2023-11-14T22:13:20Z"
    assert named.pop("revision").removesuffix("-dirty") == run(["git", "rev-parse", "HEAD"], cwd=ROOT).stdout.strip()
    assert {*named} == {"source", "version"}
