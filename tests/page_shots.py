"""Take a screenshot of each state of the page, wide and narrow, light and dark: python tests/page_shots.py FOLDER."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from conftest import PATIENCE, served
from playwright.sync_api import sync_playwright

sys.path.append(str(Path(__file__).parent / "static"))
from page_states import STATES, WINDOWS, show


def main(folder: Path) -> None:
    """Write a PNG file for each state, window and color scheme to the folder."""
    browsers = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    chromium = next(browsers, None)
    if chromium is None:
        sys.exit("Chromium is not installed: apt install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    views = [(window, scheme) for window in WINDOWS for scheme in ("light", "dark")]
    with served() as service, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for window, scheme in views:
            print(f"{window}, {scheme}", flush=True)
            width, height = WINDOWS[window]
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
            )
            tab = context.new_page()
            tab.set_default_timeout(PATIENCE * 1000)
            for state in STATES:
                show(tab, service.url, state)
                tab.screenshot(path=folder / f"{state}-{window}-{scheme}.png")
            context.close()
        browser.close()
    print(f"{len(STATES) * len(views)} screenshots are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
