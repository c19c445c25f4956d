"""The command line, started with `python -m axiscast`."""

from .cli import main

main(prog_name="axiscast")
