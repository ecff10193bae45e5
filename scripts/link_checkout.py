"""Make this checkout importable in the environment that runs this file, and put `rankcast` beside its Python.

What an editable install does, without a build and its packages: a `.pth` file and a console script.
"""

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """#!/bin/sh
exec "{python}" -m server "$@"
"""


def main() -> None:
    """Write both files; doing it again changes nothing."""
    Path(sysconfig.get_path("purelib"), "rankcast.pth").write_text(f"{ROOT}\n")
    python = Path(sys.executable)
    script = python.with_name("rankcast")
    script.write_text(SCRIPT.format(python=python))
    script.chmod(0o755)


if __name__ == "__main__":
    main()
