"""Take a screenshot of each state of the page, wide and narrow, light and dark: python tests/page_shots.py FOLDER."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from conftest import PATIENCE, served
from playwright.sync_api import sync_playwright

STATES = {
    "start": "",
    "stretched": "input=8,1,6,1&input=7,1,5",
    "conflict": "op=torch.add&input=2,64,7,7&input=64",
    "square": "op=torch.add&input=N&input=N,1",
    "symbolic": "op=numpy.add&input=N,3&input=M,3&assume=N=2..",
    "explicit-axes": "op=openvino.Broadcast-1&input=2&mode=explicit&target_shape=1,2,3,3&axes_mapping=1",
    "product": "op=numpy.matmul&input=2,3&input=4,3",
    "merged": 'op=einops.repeat&input=2,3&pattern=h w -> (h 2) w c&axes_lengths={"c":3}',
    "comparison": "op=compare&input=1,3&shape=2,-1",
    "invalid": "input=8,1&input=8,a!",
}
"""The query of the page, by the name of the state."""
WINDOWS = {"wide": (1280, 800), "narrow": (390, 844)}


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
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab = context.new_page()
            tab.set_default_timeout(PATIENCE * 1000)
            for state, query in STATES.items():
                tab.goto(f"{service.url}/?{query}")
                tab.wait_for_selector("#answer[aria-busy=false]")
                tab.wait_for_timeout(400)  # animations have ended
                tab.screenshot(path=folder / f"{state}-{window}-{scheme}.png")
            context.close()
        browser.close()
    print(f"{len(STATES) * len(views)} screenshots are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
