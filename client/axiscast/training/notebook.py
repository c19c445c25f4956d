"""The extension of IPython: errors about shapes are explained under their tracebacks."""

from __future__ import annotations

from typing import Any

__all__ = ["load"]


def load(shell: Any) -> None:
    """Explain the errors of a shell from now on: `%load_ext axiscast`."""

    def explain(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None) -> None:
        from ..answers.exceptions import add_why

        add_why(error)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), explain)
