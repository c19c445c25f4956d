"""Write the software bill of materials of the image (SBOM, CycloneDX 1.6).

    python deploy/sbom.py /opt/axiscast /opt/axiscast/sbom.cdx.json

The Dockerfile runs this. The document lists axiscast, its Python packages, the packages of Debian, and Python itself.
The same packages give the same bytes: the serial number is derived from the content, and the time is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from uuid import NAMESPACE_URL, UUID, uuid5

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
DEBIAN = Path("/var/lib/dpkg/status")


def main(environment: str, target: Path) -> None:
    tool = [Path(sys.executable).with_name("cyclonedx-py"), "environment", environment]
    options = ["--output-reproducible", "--pyproject", ROOT / "pyproject.toml", "--spec-version", "1.6"]
    written = subprocess.run([*tool, *options], check=True, stdout=subprocess.PIPE).stdout
    bom = Bom.from_json(json.loads(written))
    bom.components.update([python(), *debian_packages(DEBIAN.read_text(), platform.freedesktop_os_release())])
    bom.serial_number = UUID(int=0)
    bom.serial_number = uuid5(NAMESPACE_URL, serialized(bom))
    text = serialized(bom)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the SBOM does not follow the schema of CycloneDX: {error}")
    target.write_text(text)


def serialized(bom: Bom) -> str:
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def python() -> Component:
    version = platform.python_version()
    return Component(
        type=ComponentType.PLATFORM,
        name="python",
        version=version,
        bom_ref=f"python=={version}",
        cpe=f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*",
        purl=PackageURL("generic", None, "python", version),
    )


def debian_packages(status: str, release: dict[str, str]) -> Iterator[Component]:
    """Yield the installed packages in dpkg's status file."""
    for paragraph in status.strip().split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        if fields["Status"] != "install ok installed":
            continue
        qualifiers = {"arch": fields["Architecture"], "distro": f"{release['ID']}-{release['VERSION_ID']}"}
        purl = PackageURL("deb", release["ID"], fields["Package"], fields["Version"], qualifiers)
        yield Component(
            type=ComponentType.LIBRARY,
            name=fields["Package"],
            version=fields["Version"],
            bom_ref=purl.to_string(),
            purl=purl,
        )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
