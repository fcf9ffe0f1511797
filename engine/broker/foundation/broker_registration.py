"""Keeps the name servers informed of this broker and its topics (RocketMQ: ``BrokerController.registerBrokerAll``).

Each name server has a task of its own, which registers every 30 s, and at once when a topic changed: one that is slow
or silent keeps no other waiting. Changes that come while a registration is under way go together in the next one, so a
thousand new topics cost two, which carry what is new; every 30 s all is told again.

Whoever makes a topic, by a tool, by a first send or by the first heartbeat of a group, is answered when every name
server has had its registration (:meth:`BrokerRegistration.told`): then the route is there for all who hear of the
topic. A name server that refuses or cannot be reached has had it, too; one that says nothing is waited for a second,
and the log names it. RocketMQ does the same for tools, waiting up to 6 s; in the other two cases it sends the
registration before the reply but does not wait for what becomes of it.
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
    """How far one name server is.

    :ivar told: so many changes were made before its last registration began, which has ended.
    :ivar in_full: the next registration names all topics.
    :ivar is_overdue: somebody gave up waiting for the registration that is under way.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.told = 0
        self.in_full = True
        self.is_overdue = False
        self.is_due = asyncio.Event()
        self.ended = asyncio.Event()

    def registration_ended(self, changes: int) -> None:
        """One that began after ``changes`` has ended, well or not."""
        self.told, self.is_overdue = changes, False
        ended, self.ended = self.ended, asyncio.Event()
        ended.set()


class BrokerRegistration:
    """See the module.

    :param config: the name servers, the period, how long is waited.
    :param register: registers with the name server at an address, in full or not; returns when that has ended, well
        or not.
    :ivar changes: how often topics changed so far; the start counts as the first time.
    """

    def __init__(self, config: BrokerConfig, register: Callable[[str, bool], Awaitable[object]]) -> None:
        self.changes = 1
        self._config = config
        self._register = register
        self._name_servers = [_NameServer(address) for address in config.name_server_addresses]

    async def start(self, tasks: BackgroundTasks) -> None:
        """Register, and again whenever need be; returns when each name server has had the first registration."""
        for name_server in self._name_servers:
            tasks.spawn(self._keep_registered(name_server), "register")
        await self.told(self._config.register_broker_timeout_mills)

    def topics_changed(self) -> None:
        """The name servers must hear of it."""
        self.changes += 1
        self.renew()

    def renew(self) -> None:
        """Register now: the reply may be news, to a slave whose master has moved."""
        for name_server in self._name_servers:
            name_server.is_due.set()

    def advance(self, ms: int) -> None:
        """The clock was set ahead so much: if that is a period, registrations are due."""
        if ms >= self._config.register_name_server_period_ms:
            for name_server in self._name_servers:
                name_server.in_full = True
                name_server.is_due.set()

    async def told(self, wait_ms: int | None = None) -> None:
        """Returns when every name server has had the changes made so far, or after ``wait_ms``."""
        changes = self.changes
        wait_ms = self._config.registration_wait_ms if wait_ms is None else wait_ms
        try:
            async with asyncio.timeout(wait_ms / 1_000):
                for name_server in self._name_servers:
                    while name_server.told < changes:
                        await name_server.ended.wait()
        except TimeoutError:
            self._note_overdue(changes, wait_ms)

    async def answered_when_told(self, reply: _Reply) -> _Reply:
        """``reply``, when every name server has had the changes made so far."""
        await self.told()
        return reply

    def _note_overdue(self, changes: int, wait_ms: int) -> None:
        for name_server in self._name_servers:
            if name_server.told < changes and not name_server.is_overdue:
                name_server.is_overdue = True
                logger.warning(
                    "name server %s has not confirmed the registration within %d ms: it hears of changed topics later "
                    "than their clients",
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
