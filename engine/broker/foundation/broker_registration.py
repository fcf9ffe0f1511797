"""The registration of this broker and its topics at the name servers (RocketMQ:
``BrokerController.registerBrokerAll``).

Each name server has its own task, which registers every 30 s, and immediately when a topic changed: a slow or silent
one does not delay the others. Changes during a registration are combined in the next one, so a thousand new topics cost
two registrations, with the new topics only; every 30 s everything is sent again.

A client that creates a topic, by a tool, by a first send or by the first heartbeat of a group, gets its reply when the
registration at every name server has ended (:meth:`BrokerRegistration.registered`): then the route exists for all
clients that learn of the topic. A name server that refuses or cannot be reached counts as done; one that does not
answer is waited for one second, and is logged. RocketMQ does the same for tools, waiting up to 6 s; in the other two
cases it sends the registration before the reply but does not wait for the outcome.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.broker.foundation.broker_config import BrokerConfig
from engine.runtime.background_tasks import BackgroundTasks

logger = logging.getLogger("glassmq.broker")

_Reply = TypeVar("_Reply")


class _NameServer:
    """The progress of the registration at one name server.

    ``reported`` counts the changes that had been made before the last finished registration began.

    :ivar in_full: the next registration names all topics.
    :ivar is_overdue: a caller gave up waiting for the registration in progress.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.reported = 0
        self.in_full = True
        self.is_overdue = False
        self.is_due = asyncio.Event()
        self.ended = asyncio.Event()

    def registration_ended(self, changes: int) -> None:
        """Note the end of a registration that began after ``changes``, successful or not."""
        self.reported, self.is_overdue = changes, False
        ended, self.ended = self.ended, asyncio.Event()
        ended.set()


class BrokerRegistration:
    """The registration tasks of one broker.

    :param config: the name servers, the period and the timeout.
    :param register: registers with the name server at an address, in full or not; returns when that has ended,
        successfully or not.
    :ivar changes: how many times topics changed so far; the start counts as the first time.
    """

    def __init__(self, config: BrokerConfig, register: Callable[[str, bool], Awaitable[object]]) -> None:
        self.changes = 1
        self._config = config
        self._register = register
        self._name_servers = [_NameServer(address) for address in config.name_server_addresses]

    async def start(self, tasks: BackgroundTasks) -> None:
        """Register, and again whenever needed; returns when the first registration at each name server has ended."""
        for name_server in self._name_servers:
            tasks.spawn(self._keep_registered(name_server), "register")
        await self.registered(self._config.register_broker_timeout_mills)

    def topics_changed(self) -> None:
        """Notify the name servers of a change."""
        self.changes += 1
        self.renew()

    def renew(self) -> None:
        """Register now, because the reply may be new for a slave whose master has moved."""
        for name_server in self._name_servers:
            name_server.is_due.set()

    def advance(self, ms: int) -> None:
        """Advance the schedule, after the clock was set ahead by ``ms``: after a whole period, registrations
        are due.
        """
        if ms >= self._config.register_name_server_period_ms:
            for name_server in self._name_servers:
                name_server.in_full = True
                name_server.is_due.set()

    async def registered(self, wait_ms: int | None = None) -> None:
        """Wait until the registrations of all changes so far have ended at every name server, at most ``wait_ms``."""
        changes = self.changes
        wait_ms = self._config.registration_wait_ms if wait_ms is None else wait_ms
        try:
            async with asyncio.timeout(wait_ms / 1_000):
                for name_server in self._name_servers:
                    while name_server.reported < changes:
                        await name_server.ended.wait()
        except TimeoutError:
            self._note_overdue(changes, wait_ms)

    async def answered_when_registered(self, reply: _Reply) -> _Reply:
        """Return ``reply`` when the registrations of all changes so far have ended at every name server."""
        await self.registered()
        return reply

    def _note_overdue(self, changes: int, wait_ms: int) -> None:
        for name_server in self._name_servers:
            if name_server.reported < changes and not name_server.is_overdue:
                name_server.is_overdue = True
                logger.warning(
                    "name server %s has not confirmed the registration within %d ms: it learns of changed topics "
                    "later than their clients",
                    name_server.address,
                    wait_ms,
                )

    async def _keep_registered(self, name_server: _NameServer) -> None:
        while True:
            name_server.is_due.clear()
            changes = self.changes
            in_full, name_server.in_full = name_server.in_full, False
            await self._register(name_server.address, in_full)
            name_server.registration_ended(changes)
            try:
                async with asyncio.timeout(self._config.register_name_server_period_ms / 1_000):
                    await name_server.is_due.wait()
            except TimeoutError:
                name_server.in_full = True
