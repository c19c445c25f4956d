"""The components of one application, which all requests share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from axiscast.wire.problems import Problem

from .http.grammar import ACCEPT_BYTES, header_fields
from .http.hooks import HOOKS, HeaderFields, Hooks, Peer
from .http.reload import ReloadableFiles, reloading
from .http.tls import Certificate
from .log_writer import LOG_WRITER
from .logs import RateLimitedLog, access_log
from .middleware.authentication import ApiKeys
from .middleware.client_facts import ClientFacts, joined_fields, request_id_in
from .middleware.host_check import parse_hosts
from .middleware.problems import problem_answer
from .runtime.budget import MemoryBudget
from .runtime.drain import Drain
from .runtime.lag import measure_loop_lag
from .runtime.process import tuned_process
from .runtime.threads import WorkerThreads
from .settings import Settings

if TYPE_CHECKING:
    from .metrics import Metrics


MAX_REFUSED_HEADER_BYTES = 8 * 2**10
"""The maximum number of bytes of a refused header block that are searched for fields such as Accept."""


class Components:
    """The components of one application, created from its settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.drain = Drain(settings.drain_seconds, settings.finish_seconds)
        self.log = access_log(settings.log_format) if settings.access_log else None
        self.client_facts = ClientFacts(settings.log_client_address, settings.trusted_proxies)
        self.host_names = parse_hosts(settings.allowed_hosts)
        self.keys = ApiKeys(settings.api_keys_file) if settings.api_keys_file else None
        self.threads = WorkerThreads()
        self.refusals: Counter[str] = Counter()
        """The number of refused or aborted connections by problem code or reason."""
        self._refusal_logs: defaultdict[str, RateLimitedLog] = defaultdict(RateLimitedLog)
        tls = settings.tls_certificate or settings.tls_key
        self.hooks = Hooks(
            refusal=self.refusal,
            request_seconds=settings.request_seconds,
            max_body_bytes=settings.max_body_bytes,
            budget=MemoryBudget(settings.memory_budget_bytes, encrypted=bool(settings.tls_certificate)),
            refused=self.refused,
            certificate=Certificate(settings.tls_certificate, settings.tls_key) if tls else None,
        )
        self.metrics: Metrics | None = None
        if settings.metrics and find_spec("prometheus_client"):
            from .metrics import Metrics

            budget = self.hooks.budget
            self.metrics = Metrics(lambda: budget.held, budget.limit)
            LOG_WRITER.on_drop = self.metrics.log_lines_dropped

    def refused(self, reason: str) -> None:
        """Count a refused or aborted connection."""
        self.refusals[reason] += 1
        if self.metrics is not None:
            self.metrics.refused(reason)

    def refusal(
        self, problem: Problem, head: bytes, peer: Peer, request_id: str | None
    ) -> tuple[int, HeaderFields, bytes]:
        """Return the problem response of a connection, and count it. See Hooks.refusal.

        The encoding is the one that the Accept field names, if it is readable.
        """
        if self.metrics is not None:
            self.metrics.problem(problem.code)
        found = header_fields(head[:MAX_REFUSED_HEADER_BYTES])
        fields = joined_fields((name, value) for name, value in found if len(value) <= ACCEPT_BYTES)
        response = problem_answer(problem, fields).as_response()
        if request_id is None:
            request_id = request_id_in(fields.get(b"x-request-id"))
            facts = {"code": problem.code, "detail": str(problem), "request_id": request_id}
            self._refusal_logs[problem.code].log("refused", facts | self.client_facts(peer, fields))
        headers = [*response.raw_headers, (b"x-request-id", request_id.encode())]
        return response.status_code, headers, bytes(response.body)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        """Run what the application needs from its start to its end, and give the connections their hooks."""
        LOG_WRITER.waits = False
        sources: list[ReloadableFiles[Any]] = [source for source in (self.keys, self.hooks.certificate) if source]
        lag = measure_loop_lag(self.metrics.lag) if self.metrics else nullcontext()
        with self.drain.on_sigterm(), tuned_process(), lag:
            async with reloading(sources):
                yield {HOOKS: self.hooks}
        LOG_WRITER.waits = True  # uvicorn logs its last lines and may then end the process by a signal
        LOG_WRITER.flush()
