"""The programs in ``docs/clients.md``: each stands in a fenced block under ``<!-- program: its file name -->``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.interop.harness.installs import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "clients.md"
NAME_SERVER_IN_DOCUMENT = "127.0.0.1:9876"
_PROGRAM = re.compile(r"^<!-- program: (\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def documented_programs() -> dict[str, str]:
    """Source by file name."""
    return dict(_PROGRAM.findall(DOCUMENT.read_text("utf-8")))


def write_program(name: str, folder: Path, name_server: str) -> Path:
    """Write the program into ``folder`` as it stands, but for the name server's address."""
    path = folder / name
    path.write_text(documented_programs()[name].replace(NAME_SERVER_IN_DOCUMENT, name_server), "utf-8")
    return path
