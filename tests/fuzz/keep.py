"""Add the inputs of a fuzzing run to the corpus: python -m fuzz.keep TARGET FOLDER, in the folder tests.

FOLDER is the folder of fuzz.guided. It contains only inputs that reached new code. The bytes of corpus/TARGET.zip
depend only on the inputs.
"""

from __future__ import annotations

import sys
from hashlib import sha1
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fuzz.seeds import archive_of, kept, made


def main() -> None:
    target, folder = sys.argv[1:]
    found = [path.read_bytes() for path in Path(folder).iterdir()]
    inputs = {sha1(data).hexdigest(): data for data in {*kept(target), *found} - {*made(target)}}
    with ZipFile(archive_of(target), "w", ZIP_DEFLATED) as archive:
        for name, data in sorted(inputs.items()):
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    print(f"{target}: {len(inputs)} inputs, {archive_of(target).stat().st_size} bytes")


main()
