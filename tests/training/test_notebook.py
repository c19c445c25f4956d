"""%load_ext axiscast, in a stand-in for IPython's shell."""

from __future__ import annotations

from typing import Any

import numpy as np

import axiscast


class Shell:
    """What the extension takes of IPython's shell."""

    shown: Any = None

    def set_custom_exc(self, kinds: Any, handler: Any) -> None:
        self.kinds, self.handler = kinds, handler

    def showtraceback(self, exception: Any, tb_offset: Any = None) -> None:
        self.shown = exception[1]


def test_an_error_is_shown_with_its_explanation() -> None:
    shell, x, y = Shell(), np.zeros((2, 3)), np.zeros(4)
    axiscast.load_ipython_extension(shell)
    try:
        x + y
    except ValueError as error:
        shell.handler(shell, type(error), error, error.__traceback__, tb_offset=None)
    assert shell.kinds == (Exception,)
    assert shell.shown.__notes__[0].startswith("axiscast: x + y: x (2, 3) float64, y (4,) float64. ")


def test_the_extension_can_be_unloaded() -> None:
    shell = Shell()
    axiscast.load_ipython_extension(shell)
    axiscast.unload_ipython_extension(shell)
    assert (shell.kinds, shell.handler) == ((), None)
