"""axiscast run: programs behave as they do in Python."""

from __future__ import annotations

import re
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
    "an exit status of a bool": "import sys; sys.exit(True)",
    "an exit without a status": "raise SystemExit",
    "an exit at once": "import os; print('on', flush=True); os._exit(9)",
    "an exception of its own class": """
        class Stop(BaseException):
            def __str__(self): return "stopped"
        raise Stop
    """,
    "an exception without a context": """
        try:
            {}["key"]
        except KeyError:
            raise ValueError("no") from None
    """,
    "an exception with notes": "error = ValueError('no')\nerror.add_note('a note')\nraise error",
    "an exception in a generator": "def rows():\n    yield 1\n    raise ValueError('no')\nprint(list(rows()))",
    "an exception in a coroutine": """
        import asyncio
        async def work(): raise ValueError("no")
        asyncio.run(work())
    """,
    "an exception in a pool": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(1) as pool:
            try:
                pool.submit(lambda: {}["key"]).result()
            except KeyError as error:
                print("caught", error, getattr(error, "__notes__", None))
    """,
    "an exception at the end": "import atexit; atexit.register(lambda: {}['key']); print('body')",
    "an exception that can't be raised": """
        class Left:
            def __del__(self): raise ValueError("no")
        left = Left()
        del left
        print("on")
    """,
    "an exception that is printed": """
        import traceback
        try:
            {}["key"]
        except KeyError:
            traceback.print_exc()
    """,
    "an exception that is logged": """
        import logging
        try:
            {}["key"]
        except KeyError:
            logging.exception("failed")
    """,
    "a failing thread with a hook": """
        import threading
        threading.excepthook = lambda failed: print("hook", failed.exc_type)
        one = threading.Thread(target=lambda: {}["key"])
        one.start(); one.join()
    """,
    "an endless recursion": """
        import sys
        sys.setrecursionlimit(60)
        def f(): f()
        try: f()
        except RecursionError: print("deep")
    """,
    "a module beside it": """
        import sys
        sys.path.append(".")
        import script
        print(script.__name__, script is sys.modules["__main__"])
    """,
    "an import of main": """
        import __main__
        print(__main__.__name__, __main__.__file__, vars(__main__) is globals())
    """,
    "a script with a byte order mark": "\ufeffprint('on')".encode().decode("latin-1"),
    "a script that runs a script": """
        import runpy
        if __name__ == "__main__":
            print(runpy.run_path(__file__, run_name="other")["__name__"])
    """,
    "another encoding": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))",
}


def outcome(folder: Path, *command: str) -> tuple[int, str, str]:
    done = run([sys.executable, *command, "script.py", "--an", "option"], cwd=folder, input="one\ntwo\n")
    return done.returncode, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_in_python(tmp_path: Path, name: str) -> None:
    lines = PROGRAMS[name].strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    (tmp_path / "script.py").write_text("\n".join(line[indent:] for line in lines), encoding="latin-1")
    with ThreadPoolExecutor() as pool:
        python, axiscast = pool.map(lambda command: outcome(tmp_path, *command), [(), ("-m", "axiscast", "run")])
    assert axiscast == python
