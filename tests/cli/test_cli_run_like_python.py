"""axiscast run: programs behave as they do in Python."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import run

PROGRAMS = {
    "the names of the module": """
        print(__name__, __file__, __package__, __spec__, __cached__, __doc__, type(__loader__).__name__)
        import sys; print(sys.argv, sys.path[0], sys.modules["__main__"].__file__, sorted(globals()))
    """,
    "annotations": """
        import functools
        def build():
            class Leaf: ...
            @functools.singledispatch
            def name(value): return "any"
            @name.register
            def _(value: Leaf): return "leaf"
            return name(Leaf())
        def typed(a: int) -> str: ...
        x: int = 3
        print(build(), typed.__annotations__, __annotations__)
    """,
    "a changed folder": """
        import os
        os.chdir("/")
        print(open(__file__).read()[:20])
    """,
    "warnings": """
        import warnings
        warnings.warn("here")
        warnings.warn("old", DeprecationWarning)
        def call(): warnings.warn("caller", stacklevel=2)
        call()
    """,
    "an excepthook": """
        import sys
        sys.excepthook = lambda kind, error, trace: print(kind, error, trace.tb_lineno, trace.tb_next)
        {}["key"]
    """,
    "an excepthook that exits": """
        import sys
        sys.excepthook = lambda *error: sys.exit(7)
        {}["key"]
    """,
    "an exception": "def f(): raise ValueError('no')\nf()",
    "a chained exception": """
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("no") from error
    """,
    "an exception with a message of megabytes": "raise ValueError('0123456789' * 300_000)",
    "a syntax error": "x = = 3",
    "an exit status": "import sys; sys.exit(5)",
    "an exit with a text": "import sys; sys.exit('stop')",
    "an exit at the end": "import atexit; atexit.register(print, 'end'); print('body')",
    "an exception group": "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])",
    "a thread that ends later": """
        import threading, time
        def work():
            done.wait()
            print(__name__, VALUE)
        done, VALUE = threading.Event(), 3
        threading.Thread(target=work).start()
        done.set()
    """,
    "a failing thread": """
        import threading
        one = threading.Thread(target=lambda: {}["key"], name="worker")
        one.start(); one.join(); print("on")
    """,
    "a process": """
        import multiprocessing
        def double(x): return 2 * x
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]))
    """,
    "its own source": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), inspect.getfile(f))",
    "pickling": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A, A.__module__)",
    "dataclasses": """
        import dataclasses, typing
        @dataclasses.dataclass
        class A:
            x: int = 3
        print(A(), typing.get_type_hints(A))
    """,
    "its input": "print(input(), input())",
    "another encoding": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))",
}


def outcome(folder: Path, *command: str) -> tuple[int, str, str]:
    done = run([sys.executable, *command, "script.py", "--an", "option"], cwd=folder, input="one\ntwo\n")
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_in_python(tmp_path: Path, name: str) -> None:
    lines = PROGRAMS[name].strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    (tmp_path / "script.py").write_text("\n".join(line[indent:] for line in lines), encoding="latin-1")
    with ThreadPoolExecutor() as pool:
        python, axiscast = pool.map(lambda command: outcome(tmp_path, *command), [(), ("-m", "axiscast", "run")])
    assert axiscast == python
