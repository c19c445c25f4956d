"""Count the lines of the product at a commit, or at two, by folder: code, comments, docstrings and blanks.

    python benchmarks/lines.py                  at HEAD
    python benchmarks/lines.py v0.1.0 HEAD      at both, and what was added between them

The files are read from git, not from the working tree. The product is the code and the data in client/ and service/:
Python, the web page, and the files that the code reads. In Python, a string that is a statement is a docstring, and a
line of code that ends with a comment is code. In all other files, each line that is not blank is code.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path, PurePosixPath

PRODUCT = ("client", "service")
SUFFIXES = {".py", ".html", ".css", ".js", ".json", ".jsonl", ".toml", ".md"}
ALL = "all"
SPACE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    ).stdout


def lines_of(path: PurePosixPath, source: str) -> Counter[str]:
    """Return the number of lines of each kind in a file."""
    if path.suffix != ".py":
        return Counter("code" if line.strip() else "blanks" for line in source.splitlines())
    kinds = dict.fromkeys(range(1, len(source.splitlines()) + 1), "blanks")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        for line in range(token.start[0], token.end[0] + 1):
            if token.type == tokenize.COMMENT and kinds[line] == "blanks":
                kinds[line] = "comments"
            elif token.type not in SPACE | {tokenize.COMMENT}:
                kinds[line] = "code"
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                kinds |= dict.fromkeys(range(first, last + 1), "docstrings")
    return Counter(kinds.values())


def folders_at(commit: str) -> dict[str, Counter[str]]:
    """Return the lines of each kind in each folder at a commit, and their sums."""
    found: dict[str, Counter[str]] = {}
    for path in map(PurePosixPath, git("ls-tree", "-r", "--name-only", commit, *PRODUCT).splitlines()):
        if path.suffix in SUFFIXES:
            lines = lines_of(path, git("show", f"{commit}:{path}"))
            for folder in (str(path.parent), ALL):
                found[folder] = found.get(folder, Counter()) + lines
    return found


def row(name: str, *counts: int) -> str:
    """Return a line of the table: the number for each commit, and the difference."""
    added = [f"{counts[1] - counts[0]:+10}"] if len(counts) == 2 else []
    return "".join([f"{name:40}", *(f"{count:10}" for count in counts), *added])


def main(commits: list[str]) -> None:
    counted = [folders_at(commit) for commit in commits]
    print(f"{'code in':40}", *(f"{git('rev-parse', '--short', commit).strip():>9}" for commit in commits))
    folders = {folder for found in counted for folder in found}
    for folder in sorted(folders, key=lambda folder: (folder == ALL, folder)):
        print(row(folder, *(found.get(folder, Counter())["code"] for found in counted)))
    for kind in ("comments", "docstrings", "blanks"):
        print(row(kind, *(found[ALL][kind] for found in counted)))


if __name__ == "__main__":
    main(sys.argv[1:3] or ["HEAD"])
