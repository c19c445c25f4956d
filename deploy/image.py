"""Build the image of the service by Docker or Podman, or compare two builds.

    python deploy/image.py build       # axiscast:VERSION, and its SBOM in dist-image/axiscast.cdx.json
    python deploy/image.py compare     # builds twice, from two folders and without a cache

The date of the image is the date of the commit, or SOURCE_DATE_EPOCH. These environment variables are optional:

  ENGINE     podman or docker. The default is the first of them that works
  BASE       the base image. The default is in the Dockerfile
  PIP_CONF, CA_BUNDLE
             a pip.conf and a file of certificates, for the build only. The defaults are pip's settings on this machine
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
SBOM = "/opt/axiscast/sbom.cdx.json"
STAND_IN = "localhost/axiscast-base:bookworm"
"""A base image for tests on a machine that can't pull the real one: Debian bookworm with its Python 3.11."""


def run(*command: str | Path, **options: object) -> str:
    """Run a command and return its output. Raises CalledProcessError, with the output, if it fails."""
    done = subprocess.run(command, check=True, text=True, capture_output=True, **options)
    return str(done.stdout).strip()


def works(*command: str | Path) -> bool:
    return shutil.which(command[0]) is not None and not subprocess.run(command, capture_output=True).returncode


def find_engine() -> str:
    names = os.environ.get("ENGINE", "podman docker").split()
    for name in names:
        if works(name, "info"):
            return name
    raise ValueError(f"no engine works on this machine (tried {', '.join(names)}): install Podman")


def find_base(engine: str, stand_in: bool) -> str:
    """Return the base image, which is then on this machine. `stand_in` allows Debian bookworm instead, for tests."""
    given = os.environ.get("BASE")
    base = given or re.findall(r"^ARG BASE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0]
    if works(engine, "image", "inspect", base) or works(engine, "pull", "--quiet", base):
        return base
    if given or not stand_in:
        raise ValueError(f"the base image {base} can't be pulled: set BASE to an image that can")
    if not works(engine, "image", "inspect", STAND_IN):
        make_stand_in(engine)
    return STAND_IN


def make_stand_in(engine: str) -> None:
    """Make Debian bookworm with its Python, without bytecode of the standard library, like the official image."""
    with tempfile.TemporaryDirectory() as scratch:
        packages = "--include=python3,python3-venv,ca-certificates"
        run("debootstrap", "--variant=minbase", packages, "bookworm", Path(scratch, "base"))
        for path in [*Path(scratch, "base/usr/lib").glob("python3*/**/__pycache__")]:
            shutil.rmtree(path)
        for pattern in ("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*"):
            for path in Path(scratch, "base").glob(pattern):
                path.unlink()
        run("tar", "-C", Path(scratch, "base"), "-cf", Path(scratch, "base.tar"), ".")
        run(engine, "import", Path(scratch, "base.tar"), STAND_IN)


def labels() -> dict[str, str]:
    """Return the labels of the image that depend on the commit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    revision = run("git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*", cwd=ROOT)
    values = {
        "source": project["urls"]["Source"],
        "version": project["version"],
        "revision": revision,
        "created": datetime.fromtimestamp(epoch(), UTC).isoformat().replace("+00:00", "Z"),
    }
    return {f"org.opencontainers.image.{name}": value for name, value in values.items()}


def epoch() -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct", cwd=ROOT)
    if not given.isdecimal():
        raise ValueError(f"SOURCE_DATE_EPOCH is {given!r}, but must be a number of seconds since 1970")
    return int(given)


@contextmanager
def pip_secrets() -> Iterator[list[str]]:
    """Return the build's options for the package index and the certificates of this machine."""

    def setting(name: str) -> str:
        shown = [sys.executable, "-m", "pip", "config", "get", f"global.{name}"]
        done = subprocess.run(shown, text=True, capture_output=True)
        return os.environ.get(f"PIP_{name.upper().replace('-', '_')}") or done.stdout.strip()

    options = []
    with tempfile.TemporaryDirectory() as scratch:
        certificates = os.environ.get("CA_BUNDLE") or setting("cert")
        configuration = os.environ.get("PIP_CONF", "")
        if certificates:
            options += ["--secret", f"id=ca.pem,src={certificates}"]
        if not configuration:
            lines = ["[global]"] + ["cert = /run/secrets/ca.pem"] * bool(certificates)
            lines += [f"index-url = {index}" for index in [setting("index-url")] if index]
            configuration = str(Path(scratch, "pip.conf"))
            Path(configuration).write_text("\n".join(lines) + "\n")
        yield [*options, "--secret", f"id=pip.conf,src={configuration}"]


def build(engine: str, base: str, tag: str, context: Path = ROOT, platform: str | None = None) -> None:
    """Build the image. The files in its layers have the date of the commit."""
    if "podman" in run(engine, "--version"):  # which may also be installed as docker
        # The OCI format has no HEALTHCHECK. Podman asks for more open files and processes than a container may grant.
        options = ["build", "--format", "docker", "--layers=false", "--timestamp", str(epoch()), "--tag", tag]
        options += ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"]
    else:
        options = ["buildx", "build", "--no-cache", "--output", f"type=docker,name={tag},rewrite-timestamp=true"]
    options += ["--build-arg", f"BASE={base}", "--build-arg", f"SOURCE_DATE_EPOCH={epoch()}"]
    for name, value in labels().items():
        options += ["--label", f"{name}={value}"]
    if platform:
        options += ["--platform", platform]
    with pip_secrets() as secrets:
        run(engine, *options, *secrets, context)


def write_sbom(engine: str, image: str, target: Path) -> None:
    container = run(engine, "create", image)
    try:
        target.parent.mkdir(exist_ok=True)
        run(engine, "cp", f"{container}:{SBOM}", target)
    finally:
        run(engine, "rm", container)


def compare(engine: str, base: str) -> int:
    """Build the image from two folders with different dates and permissions, and return the number of other files."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    files = [path for path in listed if path and (ROOT / path).is_file()]
    tags = [f"localhost/axiscast:compare-{os.getpid()}-{number}" for number in (1, 2)]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for tag, folder, mode in zip(tags, ("one", "another/folder"), (0o644, 0o600), strict=True):
                for path in files:
                    copy = Path(scratch, folder, path)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / path, copy)
                    copy.chmod(mode | (ROOT / path).stat().st_mode & 0o111)
                build(engine, base, tag, Path(scratch, folder))
                print(tag, *layers(engine, tag), sep="\n    ", flush=True)
            if layers(engine, tags[0]) == layers(engine, tags[1]):
                return 0
            first, second = (contents(engine, tag, Path(scratch)) for tag in tags)
        finally:
            subprocess.run([engine, "image", "rm", "--force", *tags], capture_output=True)
    different = sorted(path for path in {*first, *second} if first.get(path) != second.get(path))
    print(*different[:20], sep="\n")
    return len(different)


def layers(engine: str, image: str) -> list[str]:
    return json.loads(run(engine, "image", "inspect", "--format", "{{json .RootFS.Layers}}", image))


def contents(engine: str, image: str, scratch: Path) -> dict[str, tuple[object, ...]]:
    """Return the metadata and the bytes of all files in the layers of an image."""
    archive = scratch / "image.tar"
    run(engine, "save", "--output", archive, image)
    found: dict[str, tuple[object, ...]] = {}
    with tarfile.open(archive) as saved:
        (manifest,) = json.load(saved.extractfile("manifest.json"))
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=saved.extractfile(layer)) as members:
                for member in members:
                    file = members.extractfile(member) if member.isfile() else None
                    data = hash(file.read()) if file else member.linkname
                    found[member.name] = (member.mode, member.uid, member.gid, member.mtime, data)
    archive.unlink()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "compare", "engine"))
    parser.add_argument("--tag", help="the name of the image. The default is axiscast:VERSION")
    parser.add_argument("--sbom", type=Path, default=ROOT / "dist-image/axiscast.cdx.json", metavar="FILE")
    parser.add_argument("--platform", help="such as linux/arm64")
    parser.add_argument("--stand-in", action="store_true", help="for tests: allow Debian as the base image")
    options = parser.parse_args()
    try:
        engine = find_engine()
        if options.action == "engine":
            print(engine)
            return
        base = find_base(engine, options.stand_in)
        print(f"base image: {base}", flush=True)
        if options.action == "compare":
            if different := compare(engine, base):
                sys.exit(f"{different} files differ between the two builds")
            print("The layers are equal.")
            return
        tag = options.tag or f"axiscast:{labels()['org.opencontainers.image.version']}"
        build(engine, base, tag, platform=options.platform)
        write_sbom(engine, tag, options.sbom)
        print(tag, *layers(engine, tag), options.sbom, sep="\n    ")
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).splitlines()[-40:]
        sys.exit("\n".join([*lines, f"{error.cmd[0]} {error.cmd[1]} failed"]))


if __name__ == "__main__":
    main()
