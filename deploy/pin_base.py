"""Write the current digest of the base image into the Dockerfile: `make pin-base`.

    python deploy/pin_base.py                                 # the image in the Dockerfile, with its newest digest
    python deploy/pin_base.py python:3.13-slim-bookworm       # another image

The digest is read from the image's registry, without an account and without an engine. It names the image of all
platforms. A registry on this machine is reached by HTTP, and any other by HTTPS.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

DOCKERFILE = Path(__file__).parents[1] / "Dockerfile"
LINE = re.compile(r"^ARG BASE=(\S+)$", re.MULTILINE)
MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
"""The accepted types. A registry returns the index of all platforms if there is one."""
DOCKER_HUB = "registry-1.docker.io"


def location(image: str) -> tuple[str, str, str]:
    """Return the registry, the repository and the tag of an image."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    folder = image.rpartition("/")[0]
    host, _, rest = folder.partition("/")
    if not re.search(r"[.:]|^localhost$", host):
        host, rest = "docker.io", folder
    if host == "docker.io":
        host, rest = DOCKER_HUB, rest or "library"
    return host, f"{rest}/{name}".lstrip("/"), tag or "latest"


def current_digest(image: str) -> str:
    """Return the digest of an image in its registry. Raises OSError if the registry gives none."""
    host, repository, tag = location(image)
    scheme = "http" if re.match(r"(localhost|127\.[\d.]+)(:|$)", host) else "https"
    url = f"{scheme}://{host}/v2/{repository}/manifests/{tag}"
    headers = {"Accept": ", ".join(MANIFESTS)}
    try:
        answer, manifest = fetch(url, headers)
    except urllib.error.HTTPError as error:
        if error.code != 401:
            raise
        token = anonymous_token(error.headers.get("WWW-Authenticate", ""))
        answer, manifest = fetch(url, headers | {"Authorization": f"Bearer {token}"})
    digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    named = answer.get("Docker-Content-Digest", digest)
    if answer.get("Content-Type") not in MANIFESTS or named != digest:
        raise OSError(f"{url} returned {answer.get('Content-Type')} with the digest {named}, not a manifest")
    return digest


def anonymous_token(challenge: str) -> str:
    """Return a token for reading public images, as a registry's 401 response describes."""
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not challenge.startswith("Bearer ") or "realm" not in fields:
        raise OSError("the registry requires a login")
    query = urllib.parse.urlencode({name: fields[name] for name in ("service", "scope") if name in fields})
    answer = json.loads(fetch(f"{fields['realm']}?{query}", {})[1])
    return str(answer.get("token") or answer["access_token"])


def fetch(url: str, headers: Mapping[str, str]) -> tuple[Mapping[str, str], bytes]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=dict(headers)), timeout=30) as answer:
        return answer.headers, answer.read(2**24)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", nargs="?", help="the image, with a tag. The default is the image in the Dockerfile")
    text = DOCKERFILE.read_text()
    (pinned,) = LINE.findall(text)
    image = (parser.parse_args().image or pinned).partition("@")[0]
    try:
        base = f"{image}@{current_digest(image)}"
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        start = f"pin-base: can't get the digest of {image} from its registry"
        sys.exit(f"{start}: {reason}. The Dockerfile is unchanged.")
    DOCKERFILE.write_text(LINE.sub(f"ARG BASE={base}", text))
    print(f"{'unchanged' if base == pinned else 'Dockerfile'}: ARG BASE={base}")


if __name__ == "__main__":
    main()
