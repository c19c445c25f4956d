"""The programs in a test, for the pytest plugin to watch."""

from __future__ import annotations

import os

from watched.__main__ import run


def test_programs() -> None:
    run("alone", os.environ["WATCHED_OUTCOMES"])
