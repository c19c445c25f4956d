"""Check that the external links of the documentation and of the ops resolve.

    python docs/check_links.py        (make links)

It needs the internet, so the suite does not run it. The exit status is 1 if a server reports that a page does not exist
or if a host has no address. Servers that refuse programs or do not respond in time are reported, but are not an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from axiscast.ops import OPS

ROOT = Path(__file__).parents[1]
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`|\\]+")
_OWN = re.compile(
    r"https?://(127\.0\.0\.1|localhost|host\b|[\w.-]*\bexample\.(org|com)|[\w.-]+\.invalid|github\.com/OWNER/)"
)
"""Addresses in examples."""
_GONE = (404, 410)


def links(text: str) -> set[str]:
    """Return the external URLs in a text, without their anchors."""
    found = {url.partition("#")[0].rstrip(".,:;") for url in _URL.findall(text)}
    return {url for url in found if not _OWN.match(url)}


def all_links() -> dict[str, str]:
    """Return each external URL in a tracked Markdown file or in an op, with the first place that contains it."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = {op.link.partition("#")[0]: name for name, op in OPS.items()}
    for path in listed.split():
        found |= dict.fromkeys(links((ROOT / path).read_text()), path)
    return found


def problem(url: str) -> str:
    """Return what prevents a URL from resolving, or an empty string."""
    try:
        with urlopen(Request(url, headers={"User-Agent": "Mozilla/5.0 (link check)"}), timeout=30):
            return ""
    except HTTPError as error:
        return f"{error.code} {error.reason}" if error.code in _GONE else f"not checked: {error.code}"
    except URLError as error:
        return str(error.reason)
    except TimeoutError:
        return "not checked: no response within 30 seconds"


def main() -> None:
    places = all_links()
    with ThreadPoolExecutor(8) as pool:
        problems = {url: said for url, said in zip(places, pool.map(problem, places), strict=True) if said}
    for url, said in sorted(problems.items()):
        print(f"{places[url]}: {url}: {said}")
    broken = [said for said in problems.values() if not said.startswith("not checked")]
    print(f"{len(places)} links, {len(broken)} broken")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
