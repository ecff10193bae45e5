"""`make fuzz`: atheris looks for bytes that a parser does not survive, guided by the code that they reach.

It begins with drawn inputs, ends after the time or the runs that its arguments name, and leaves the input of
a failure behind as a file (`crash-…`), which `python -m tests.wild.fuzz FILE` runs again.
"""

import hashlib
import sys
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]  # it has wheels for few platforms; make fuzz brings it

with atheris.instrument_imports(include=["server.core", "server.errors", "server.web.naming"]):
    from tests.wild.parsers import all_of

from tests.wild.lines import wild_pieces
from tests.wild.records import wild_records


def main() -> None:
    """Fuzz with the folder that the first argument names as corpus."""
    folder = Path(sys.argv[1])
    if not folder.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for data in {
            *(record.value or b"" for record in wild_records(600)),
            *(one.data for one in wild_pieces(600)),
        }:
            if len(data) < 1000:
                (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    atheris.Setup(sys.argv, all_of)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
