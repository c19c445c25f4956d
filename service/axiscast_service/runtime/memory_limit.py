"""The memory that the settings need, compared with the memory limit of the container (a cgroup of version 1 or 2)."""

from __future__ import annotations

from pathlib import Path

from ..settings import Settings, size_text

MIB = 2**20
WORKER_BYTES = 128 * MIB
"""The memory that a worker needs in addition to its budget, with the socket buffers of its connections."""
TLS_WORKER_BYTES = 128 * MIB
"""The memory that a worker needs in addition if it terminates TLS itself."""
SUPERVISOR_BYTES = 64 * MIB
"""The memory of the process that starts several workers."""


def memory_warning(settings: Settings, limit: int | None) -> str | None:
    """Return a warning if the settings need more memory than `limit` bytes. If `limit` is None, return None."""
    per_worker = WORKER_BYTES + (TLS_WORKER_BYTES if settings.tls_certificate else 0)
    shared = SUPERVISOR_BYTES if settings.workers > 1 else 0
    needed = shared + settings.workers * (settings.memory_budget_bytes + per_worker)
    if limit is None or needed <= limit:
        return None
    fits = ((limit - shared) // settings.workers - per_worker) // MIB
    advice = f"set AXISCAST_MEMORY_BUDGET_BYTES to at most {fits}MiB, or " if fits >= 1 else ""
    return (
        f"these settings need {size_text(needed)} of memory, but the limit is {size_text(limit)}: {advice}raise the "
        "limit (docs/operations.md, Memory)"
    )


def memory_limit(root: Path = Path("/")) -> int | None:
    """Return the smallest memory limit of the cgroups that contain this process, or None if there is no limit."""
    groups = root / "sys/fs/cgroup"
    limits = []
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return None
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers not in ("", "memory"):
            continue
        top, name = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top) and (file := folder / name).exists():
                limits.append(file.read_text().strip())
    return min((int(limit) for limit in limits if limit != "max"), default=None)
