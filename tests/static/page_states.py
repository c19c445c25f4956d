"""The states of the page that are shown in screenshots and whose layout is tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STATES = {
    "start": "",
    "stretched": "?input=8,1,6,1&input=7,1,5",
    "conflict": "?op=torch.add&input=2,64,7,7&input=64",
    "square": "?op=torch.add&input=N&input=N,1",
    "symbolic": "?op=numpy.add&input=N,3&input=M,3&assume=N=2..",
    "explicit-axes": "?op=openvino.Broadcast-1&input=2&mode=explicit&target_shape=1,2,3,3&axes_mapping=1",
    "product": "?op=numpy.matmul&input=5,2,3&input=3,4",
    "product-conflict": "?op=numpy.matmul&input=2,3&input=4,3",
    "merged": '?op=einops.repeat&input=2,3&pattern=h w -> (h 2) w c&axes_lengths={"c":3}',
    "comparison": "?op=compare&input=1,3&shape=2,-1",
    "unfolded": "?op=compare&input=1,3&shape=2,-1",
    "pasted": "",
    "invalid": "?input=8,1&input=8,a!",
    "missing": "?op=torch.expand&input=3",
    "options": "?op=numpy.add&input=3,1&input=4&dtype=float32&warn=mutual-stretch&warn=rank-promotion",
    "large": "?input=100000,1,224,224&input=100000,3,1,1&input=224",
    "many": "?" + "&".join(["input=2,1,1,1,1,1,1,2"] * 9),
    "empty": "?input=0,3&input=3",
    "list": "?op=torch.add&input=3,1&input=4",
    "ops": "ops",
    "problem": "problems/unknown-op",
}
"""The path of each state, which may have a query. In the state `list`, the op picker is open.
In the state `pasted`, the box contains an error message without shapes."""
WINDOWS = {"wide": (1280, 800), "narrow": (390, 844)}
"""The sizes of a laptop and of a phone."""


def show(tab: Any, url: str, state: str) -> None:
    """Load a state of the page in a tab of the browser, and wait until it is complete."""
    tab.goto(f"{url}/{STATES[state]}")
    if tab.locator("#answer").count():
        tab.wait_for_selector("#answer[aria-busy=false]")
    if state == "list":
        tab.click("#op")
        tab.keyboard.type("torch mul")
    elif state == "unfolded":
        for summary in tab.locator(".comparison summary").all():
            summary.click()
    elif state == "pasted":
        tab.fill(
            "#inputs", "The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3"
        )
        tab.get_by_text("An error message", exact=True).wait_for()


def layout_faults(tab: Any) -> list[str]:
    """Return what is wrong with the layout of the page in a tab."""
    faults: list[str] = tab.evaluate((Path(__file__).parent / "layout_faults.js").read_text())
    return faults


AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
"""The accessibility checker, if `make page-shots` has installed it."""


def axe_violations(tab: Any) -> list[str]:
    """Return the violations that axe finds in a tab, each with its first element."""
    tab.evaluate(AXE.read_text())
    found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']} {one['nodes'][0]['failureSummary']}" for one in found]
