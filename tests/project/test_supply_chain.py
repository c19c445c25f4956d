"""Tests of what the project takes from others: licences, and links to repositories."""

from __future__ import annotations

import re
import runpy
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

import pytest
from conftest import run
from deployment import PROJECT

from axiscast.ops import OPS

ROOT = Path(__file__).parents[2]
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "PSF-2.0", "Zlib"),
    "MPL-2.0",  # covers its own files only: certifi, and tools
}
"""The licences, by SPDX identifier, that a locked package may have."""
OTHER_NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""What packages write that do not use SPDX identifiers."""
UNUSED_HERE = {"colorama", "tomli"}
"""Packages that the locks contain for other Pythons or systems."""
REPOSITORIES = {
    "https://github.com/ggml-org/ggml/blob/master/include/ggml.h",
    "https://github.com/msgpack/msgpack-javascript",
    "https://github.com/NervanaSystems/ngraph/blob/v0.26.0/doc/sphinx/source/ops/broadcast.rst",
    "https://github.com/NervanaSystems/ngraph/blob/v0.26.0/src/ngraph/op/broadcast.cpp",
}
"""The URLs of GitHub that the docs and the ops contain. Each was looked up. `make links` looks them up each night."""


def locked(path: str) -> dict[str, str]:
    """Return the version of each package in a lock file."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / path).read_text(), re.MULTILINE))


def licences(package: str) -> set[str]:
    """Return the SPDX identifiers of a package's licence."""
    fields = metadata(package)
    named = fields.get("License-Expression") or fields.get("License")
    if not named:
        (named,) = (
            entry.removeprefix("License :: ")
            for entry in fields.get_all("Classifier", [])
            if entry.startswith("License ::")
        )
    return {OTHER_NAMES.get(name, name) for name in re.split(r" AND | OR ", named.strip())}


@pytest.mark.parametrize("lock", ["deploy/requirements.txt", "tests/requirements.txt"])
def test_every_locked_package_has_an_allowed_licence(lock: str) -> None:
    packages = locked(lock)
    assert len(packages) > 30
    found, missing = {}, set()
    for package, pin in packages.items():
        try:
            if version(package) != pin:
                pytest.skip(f"{package} is not the locked version, as in `make oldest`")
            found[package] = licences(package)
        except PackageNotFoundError:
            missing.add(package)
    assert {package: names - ALLOWED for package, names in found.items() if not names <= ALLOWED} == {}
    assert missing <= UNUSED_HERE


def test_the_docs_and_the_ops_name_only_repositories_that_exist() -> None:
    links = runpy.run_path(str(ROOT / "docs/check_links.py"))["all_links"]()
    own = PROJECT["project"]["urls"]["Source"]
    found = {url for url in links if "//github.com" in url and not url.startswith(own)}
    assert found == REPOSITORIES
    assert {op.link.partition("#")[0] for op in OPS.values()} <= {*links}


def test_a_link_that_does_not_resolve_is_reported() -> None:
    module = runpy.run_path(str(ROOT / "docs/check_links.py"))
    assert module["links"](
        "[a](https://a.org/b#c), <https://d.org>. http://127.0.0.1:8000/ https://x.example.org/"
    ) == {"https://a.org/b", "https://d.org"}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(int(self.path[1:]))
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reported = {
            status: module["problem"](f"http://127.0.0.1:{server.server_port}/{status}")
            for status in (200, 404, 410, 403)
        }
        server.shutdown()
    assert reported == {200: "", 404: "404 Not Found", 410: "410 Gone", 403: "not checked: 403"}


def test_the_locks_name_no_package_index() -> None:
    locks = run(["git", "ls-files", "*requirements*.txt"], cwd=ROOT).stdout.split()
    assert len(locks) >= 6
    assert [path for path in locks if "://" in (ROOT / path).read_text()] == []
