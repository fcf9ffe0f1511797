"""Short names of clients, in the style of the lab's nodes: ``C1`` for a client that consumes, ``P1`` for any other.

A client id says little to a reader and rarely fits. All pages, the recording of frames and the verdict take its short
name from here, so that a client has one name everywhere.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

from app.foundation.whole_file import READ_MAX_BYTES, write_whole
from app.observation.bounds import client_text
from engine.runtime.live.whole_file import read_whole

log = logging.getLogger("glassmq.host")

FILE_NAME = "client_names.json"
#: Clients whose names are kept, those last seen first: several times what one picture shows. Only a client that has
#: been away for longer than that many others returns under another name.
NAMES_MAX = 10_000
_NAME = re.compile(r"[CP][1-9][0-9]{0,8}", re.ASCII)


class ClientNames:
    """Names in the order in which clients are first seen; none is given twice.

    :param file: keeps them across restarts of the server; None: they last as long as its process.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._names: dict[str, str] = {}
        #: Letter -> the last number that was given.
        self._last = {"C": 0, "P": 0}
        self._is_saved = True
        if file is not None:
            self._read(file)

    def of(self, client: str, address: str = "", *, consumes: bool) -> str:
        """Return the name of a client, and give it one if it has none.

        :param client: its id; before its first heartbeat its address.
        :param address: the address of its connection: its id takes over the name that the address had.
        """
        client = client_text(client)
        self._is_saved = self._is_saved and client in self._names
        name = self._names.pop(client, None) or self._names.pop(address, None) or self._next("C" if consumes else "P")
        self._names[client] = name
        if len(self._names) > NAMES_MAX:
            del self._names[next(iter(self._names))]
        return name

    def known(self, client: str) -> str:
        """Return the name of a client; empty if it has none."""
        return self._names.get(client_text(client), "")

    def _next(self, letter: str) -> str:
        self._last[letter] += 1
        return f"{letter}{self._last[letter]}"

    def save(self) -> None:
        """Write the file if clients are new since the last time. A failure is logged: the next new one tries again."""
        if self._file is None or self._is_saved:
            return
        self._is_saved = True
        # Escapes, as ids may hold halves of characters, which UTF-8 does not have.
        text = json.dumps({"last": self._last, "names": self._names}, indent=2)
        try:
            write_whole(self._file, text.encode())
        except OSError as error:
            log.warning("the names of clients cannot be written to %s: %s", self._file, error)

    def _read(self, file: Path) -> None:
        """Read the file. One that cannot be used is logged, and names begin again: a broker starts all the same."""
        try:
            self._names, self._last = _read_names(read_whole(file, READ_MAX_BYTES))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the names of clients in %s cannot be read, they begin again: %s", file, error)


def _read_names(raw: bytes) -> tuple[dict[str, str], dict[str, int]]:
    """Return the names, and the last number of each letter. Raises ``ValueError``."""
    match json.loads(raw):
        case {"last": {"C": int(consumers), "P": int(others)}, "names": dict(names)} if len(names) <= NAMES_MAX:
            last = {"C": consumers, "P": others}
            checked = {client_text(client): str(name) for client, name in names.items()}
            if all(_NAME.fullmatch(name) and int(name[1:]) <= last[name[0]] for name in checked.values()):
                return checked, last
    raise ValueError("it does not hold names such as C1 and the last number of each letter")
