"""Tests assert facts: those of these files also pass if every sentence about shapes is replaced by its code."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import run

TESTS = Path(__file__).parents[1]
CHECKS = [
    "check", "einsum", "hints", "matching_hints", "products", "symbolic", "symbolic_requests", "symbolic_splits",
    "warnings",
]  # fmt: skip
FILES = [*(f"checks/test_{name}.py" for name in CHECKS), "comparison", "translation/test_named_sizes.py"]
SLOW = "vector or frameworks or narrow or same_result or command or client or http or url or every or fast_path "
SLOW += "or pairs or small_shapes or other_than_1 or long_equation or computed or executed"
"""The tests of these files that check thousands of requests, or start a process or a service."""


def test_tests_pass_with_codes_instead_of_sentences() -> None:
    options = ["-p", "coded_words", "-p", "no:cacheprovider", "-k", f"not ({SLOW})", "--tb=line"]
    done = run([sys.executable, "-m", "pytest", *options, *FILES], cwd=TESTS)
    assert done.returncode == 0, done.stdout
