"""python -m axiscast: the command line."""

from .cli import main

main(prog_name="axiscast")
