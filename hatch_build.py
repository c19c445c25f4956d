"""The long description of the package and the content of the source distribution."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_CODE_OR_LINK = re.compile(r"```.*?```|`[^`]*`|(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^()\s]+)\)", re.DOTALL)


class LongDescription(MetadataHookInterface):
    """README.md with absolute links, which also work on a package index."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        source, tag = metadata["urls"]["Source"], f"v{metadata['version']}"
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute_links(text, source, tag)}


class SourceDistribution(BuildHookInterface[Any]):
    """A source distribution without .gitignore, which hatchling always adds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["force_include"].pop(str(Path(self.root, ".gitignore")), None)


def absolute_links(text: str, source: str, tag: str) -> str:
    """Return Markdown in which links to files, and pictures, lead to the files of a tag of the repository `source`."""

    def absolute(link: re.Match[str]) -> str:
        picture, label, path = link.groups()
        if path is None:
            return link[0]  # code
        return f"{picture}[{label}]({source}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return _CODE_OR_LINK.sub(absolute, text)
