"""Coverage-guided fuzzing by atheris: python -m fuzz.guided TARGET SECONDS [FOLDER], from the folder tests.

New inputs are gathered in FOLDER (a temporary one when left out); one that breaks something is written to
corpus/TARGET, where test_fuzz.py finds it. keep.py adds the inputs in FOLDER to the corpus.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["axiscast", "axiscast_service"]):
    from fuzz.seeds import CORPUS, seeds
    from fuzz.targets import TARGETS


def main() -> None:
    name, seconds = sys.argv[1], sys.argv[2]
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    folder.mkdir(parents=True, exist_ok=True)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(name)):
        (folder / f"seed{number:05}").write_bytes(seed)
    atheris.Setup(
        [
            sys.argv[0],
            str(folder),
            f"-max_total_time={seconds}",
            f"-artifact_prefix={CORPUS / name}/",
            "-timeout=120",
            "-rss_limit_mb=4000",
            "-max_len=4096",
            "-print_final_stats=1",
        ],
        TARGETS[name],
    )
    atheris.Fuzz()


main()
