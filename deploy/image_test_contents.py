"""The checks of deploy/image_test.sh on the labels and the SBOM: `image_test_contents.py <engine> <image> <SBOM>`.

It needs the standard library only. deploy/sbom.py has checked the schema of the SBOM during the build.
"""

import json
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = re.compile(r"^([\w.-]+)==([^\s;]+)(.*)", re.MULTILINE)
MODULES = """
import importlib, importlib.util, pkgutil, axiscast, axiscast_service
import opentelemetry.exporter.otlp.proto.http.trace_exporter  # which is imported only if there is a collector
for package in axiscast, axiscast_service:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            module.name.endswith("__main__") or importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of a package that the image does not have, such as onnx
            if importlib.util.find_spec(error.name.partition(".")[0]):
                raise
        else:
            print(module.name)
"""


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, cwd=ROOT, **options).stdout.strip()


def inside(*command):
    return run(engine, "run", "--rm", "--no-healthcheck", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024",
               "--entrypoint", command[0], image, *command[1:])  # fmt: skip


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: got {got!r}, not {wanted!r}")
    print(f"    {what}: {str(got)[:90]}")


def check_labels():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shown = json.loads(run(engine, "image", "inspect", image))[0]
    date = datetime.fromtimestamp(int(run("git", "log", "-1", "--format=%ct")), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    dirty = "-dirty" if run("git", "status", "--porcelain", "--untracked-files=no") else ""
    wanted = {
        "title": "axiscast",
        "description": "Tensor broadcasting as a service",
        "licenses": project["license"],
        "source": project["urls"]["Source"],
        "version": project["version"],
        "revision": run("git", "rev-parse", "HEAD") + dirty,
        "created": date,
    }
    for name, value in wanted.items():
        expect(f"label {name}", shown["Config"]["Labels"].get(f"org.opencontainers.image.{name}"), value)
    expect("date of the image", datetime.fromisoformat(shown["Created"]).strftime("%Y-%m-%dT%H:%M:%SZ"), date)


def check_sbom(beside):
    text = inside("cat", "/opt/axiscast/sbom.cdx.json") + "\n"
    expect("the SBOM in the image is the file beside it", text == beside.read_text(), True)
    sbom = json.loads(text)
    expect("SBOM format", (sbom["bomFormat"], sbom["specVersion"]), ("CycloneDX", "1.6"))
    described = sbom["metadata"]["component"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    expect("SBOM of", (described["name"], described["version"]), ("axiscast", version))
    listed = {}
    for component in sbom["components"]:
        kind = component["purl"].partition("/")[0]
        listed.setdefault(kind, set()).add((re.sub("[-_.]+", "-", component["name"]).lower(), component["version"]))
    locked = NAMES.findall((ROOT / "deploy/requirements.txt").read_text())
    here = {name for name, _ in listed["pkg:pypi"]}
    packages = {(name, version) for name, version, marker in locked if ";" not in marker or name in here}
    expect("packages in the SBOM that the lock lacks", listed["pkg:pypi"] - packages, set())
    expect("packages in the lock that the SBOM lacks", packages - listed["pkg:pypi"] - {("colorama", "0.4.6")}, set())
    debian = inside("dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Status}\n")
    installed = [line.split() for line in debian.splitlines() if line.endswith(" installed")]
    names = {(re.sub("[-_.]+", "-", name).lower(), version) for name, version, _ in installed}
    expect("packages of Debian in only one of the SBOM and dpkg", listed["pkg:deb"] ^ names, set())
    python = inside("python", "-c", "import platform; print(platform.python_version())")
    expect("Python in the SBOM", listed["pkg:generic"], {("python", python)})
    print(f"    the SBOM lists {len(listed['pkg:pypi'])} packages of Python and {len(names)} of Debian")


def check_modules():
    imported = inside("python", "-W", "error", "-c", MODULES).splitlines()
    sources = [path for folder in ("client", "service") for path in (ROOT / folder).rglob("*.py")]
    expect("at least nine of ten modules can be imported", len(imported) * 10 > len(sources) * 9, True)


engine, image, file = sys.argv[1:]
check_labels()
check_sbom(Path(file))
check_modules()
