"""The IPython extension, which explains shape errors below their tracebacks."""

from __future__ import annotations

from typing import Any

__all__ = ["load"]


def load(shell: Any) -> None:
    """Make an IPython shell explain shape errors. IPython calls this function for `%load_ext axiscast`."""

    def explain(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None) -> None:
        from ..explanation.exceptions import add_why

        add_why(error)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), explain)
