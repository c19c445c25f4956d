"""The command line, started with `axiscast` or `python -m axiscast`."""

import sys


def run() -> None:
    """Run the command line. While click is imported, an interrupt ends the process without a traceback too."""
    try:
        from .cli import main

        main(prog_name="axiscast")
    except KeyboardInterrupt:
        print("Error: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
