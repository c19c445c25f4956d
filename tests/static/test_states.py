"""The layout and the accessibility of each state of the page, on a laptop and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from page_states import AXE, STATES, WINDOWS, axe_violations, layout_faults, show

if TYPE_CHECKING:
    from conftest import Served

pytest_plugins = ["page_in_browser"]


@pytest.fixture
def tab(browser: Any, request: pytest.FixtureRequest) -> Any:
    width, height = WINDOWS[request.param]
    context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("tab", WINDOWS, indirect=True)
@pytest.mark.parametrize("state", STATES)
def test_nothing_overlaps_or_is_cut_and_the_fix_is_in_view(tab: Any, service: Served, state: str) -> None:
    show(tab, service.url, state)
    assert layout_faults(tab) == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make page-shots")
@pytest.mark.parametrize("tab", WINDOWS, indirect=True)
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_in_light_and_dark(tab: Any, service: Served, state: str) -> None:
    show(tab, service.url, state)
    assert axe_violations(tab) == []
    tab.emulate_media(color_scheme="dark")
    assert axe_violations(tab) == []
