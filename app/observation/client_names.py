"""Short names of clients, in the style of the lab's nodes: ``C1`` for a client that consumes, ``P1`` for any other.

A client id says little to a reader and rarely fits. All pages, the recording of frames and the verdict take its short
name from here, so that a client has one name everywhere.
"""

from __future__ import annotations

from app.observation.bounds import client_text

#: Clients whose names are kept, those last seen first: several times what one picture shows. Only a client that has
#: been away for longer than that many others returns under another name.
NAMES_MAX = 10_000


class ClientNames:
    """Names in the order in which clients are first seen. They last as long as the process of the server, across
    restarts of the broker in it, and none is given twice.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        #: Letter -> the last number that was given.
        self._last = {"C": 0, "P": 0}

    def of(self, client: str, address: str = "", *, consumes: bool) -> str:
        """Return the name of a client, and give it one if it has none.

        :param client: its id; before its first heartbeat its address.
        :param address: the address of its connection: its id takes over the name that the address had.
        """
        client = client_text(client)
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
