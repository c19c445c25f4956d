"""python -m tensorcast: the command line."""

from .cli import main

main(prog_name="tensorcast")
