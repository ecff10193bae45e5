"""Write the settings table of this checkout into README.md, where the old one stands."""

import re
from pathlib import Path

from server.settings import table

README = Path(__file__).resolve().parent.parent / "README.md"
TABLE = re.compile(r"^\| variable \| default \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)


def main() -> None:
    """Replace the table; doing it again changes nothing."""
    README.write_text(TABLE.sub(lambda _: table() + "\n", README.read_text(), count=1))


if __name__ == "__main__":
    main()
