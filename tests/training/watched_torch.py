"""Fixtures for tests of watch: a fake torch, and torch itself if it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import fake_torch
import pytest

from axiscast.training import torch_ops, watching


@pytest.fixture(
    params=["fake", pytest.param("real", marks=pytest.mark.skipif(not find_spec("torch"), reason="no torch"))]
)
def torch(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "real":
        import torch

        yield torch
    else:
        yield request.getfixturevalue("stand_in")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    caches = (watching.load_mode, torch_ops.function_roles)
    for cache in caches:
        cache.cache_clear()
    yield fake_torch.install(monkeypatch.setitem)
    for cache in caches:
        cache.cache_clear()
