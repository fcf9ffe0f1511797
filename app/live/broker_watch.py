"""Asks all brokers that the name servers know how they are, while a page shows them, and no more often than that.

Runs in the engine's thread, also where this process runs no broker: a follower of a group, or one whose broker was
killed. All pages share one round of requests, and a broker that does not answer delays no page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.foundation.translator import in_all_languages
from app.observation.bounds import client_text
from app.remote.broker_facts import read_broker
from app.remote.cluster_reader import ClusterReader
from app.remote.no_answer import why_no_answer
from app.remote.own_broker import OwnBroker, OwnServers
from app.remote.remote_broker import RemoteBroker
from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.protocol.errors import ProtocolError
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.live.live_tls import own_client_tls

if TYPE_CHECKING:
    from app.picture.live.brokers import BrokerReport, BrokersReport
    from engine.broker.broker import Broker
    from engine.live.live_machines import LiveMachines
    from engine.name_server.name_server import NameServer
    from engine.runtime.live.live_tls import ServerTls

logger = logging.getLogger("glassmq.host")

#: Brokers, topics and groups that are asked for; the first ones by name.
BROKERS_MAX = 64
TOPICS_MAX = 32
GROUPS_MAX = 32
#: Brokers that are asked at the same time.
OPEN_MAX = 8
#: Milliseconds for one answer, and seconds for all answers of a broker.
ANSWER_TIMEOUT_MS = 2_000
BROKER_TIMEOUT_S = 5.0
#: Microseconds between the begins of two rounds.
AGAIN_US = 2_000_000
#: Seconds that a page waits for the round that it begins.
LOOK_WAITS_S = 0.4
#: Microseconds for which a broker is shown that no name server knows any more.
KEPT_US = 600_000_000

#: Name, id and address.
_Key = tuple[str, int, str]


class BrokerWatch:
    """The last report of each broker.

    :param machines: the servers of this process; they are asked without a connection and without access rules.
    """

    def __init__(self, machines: LiveMachines, tls: ServerTls) -> None:
        self._machines = machines
        self._runtime = LiveRuntime("brokers", None, client_tls=own_client_tls(tls))
        self._client = OwnServers(self._runtime, self._own_servers)
        self._reports: dict[_Key, BrokerReport] = {}
        self._name_servers: dict[str, dict[str, str] | None] = {}
        self._topics: list[str] = []
        self._groups: list[str] = []
        self._omitted_brokers = 0
        self._round: asyncio.Task[None] | None = None
        self._begun_us = 0

    def _own_servers(self) -> Iterable[Broker | NameServer]:
        machines = self._machines
        if machines.broker_runs:
            yield machines.broker
        if machines.name_server_runs:
            yield machines.name_server

    def _is_own(self, address: str) -> bool:
        return self._machines.broker_runs and address == self._machines.broker.address

    async def look(self) -> BrokersReport:
        """Return what is known; a round of requests begins if the last one is done and old enough."""
        now_us = self._runtime.clock.monotonic_us()
        if self._round is None or (self._round.done() and now_us - self._begun_us >= AGAIN_US):
            self._begun_us = now_us
            self._round = asyncio.create_task(self._ask_all())
        await asyncio.wait([self._round], timeout=LOOK_WAITS_S)
        if self._round.done():
            self._round.result()
        return {
            "now_us": self._now_us(),
            "name_servers": dict(self._name_servers),
            "brokers": [report for _, report in sorted(self._reports.items())],
            "omitted_brokers": self._omitted_brokers,
            "omitted_topics": max(0, len(self._topics) - TOPICS_MAX),
            "omitted_groups": max(0, len(self._groups) - GROUPS_MAX),
        }

    def _now_us(self) -> int:
        return 1_000 * self._runtime.clock.now_ms()

    async def _ask_all(self) -> None:
        known = await self._ask_name_servers()
        shown = sorted(known)[:BROKERS_MAX]
        for key in known.difference(shown):
            self._reports.pop(key, None)
        self._omitted_brokers = len(known) - len(shown)
        self._note_unregistered(known)
        may_ask = asyncio.Semaphore(OPEN_MAX)
        await asyncio.gather(*(self._ask(key, may_ask) for key in shown))

    async def _ask_name_servers(self) -> set[_Key]:
        """Return the brokers that any of them knows, and note the topics and groups of all."""
        addresses = self._machines.name_server_addresses
        answers = await asyncio.gather(*(self._ask_name_server(address) for address in addresses))
        found = [answer for answer in answers if not isinstance(answer, dict)]
        self._name_servers = {
            address: answer if isinstance(answer, dict) else None
            for address, answer in zip(addresses, answers, strict=True)
        }
        if not found:
            return {key for key, report in self._reports.items() if report["state"] != "unregistered"}
        self._topics = sorted({topic for _, topics, _ in found for topic in topics})
        self._groups = sorted({group for _, _, groups in found for group in groups})
        return {key for brokers, _, _ in found for key in brokers}

    async def _ask_name_server(self, address: str) -> tuple[list[_Key], list[str], list[str]] | dict[str, str]:
        """Return its brokers, topics and groups, or why it does not answer, by language."""
        reader = ClusterReader(self._client, (address,), ANSWER_TIMEOUT_MS)
        try:
            return await reader.brokers(), await reader.user_topics(), await reader.groups()
        except (MQClientError, ProtocolError) as error:
            return why_no_answer(error)

    def _note_unregistered(self, known: set[_Key]) -> None:
        now_us = self._now_us()
        for key, report in list(self._reports.items()):
            if key in known:
                continue
            if report["state"] != "unregistered":
                self._note(key, "unregistered")
            elif now_us - report["since_us"] > KEPT_US or len(self._reports) > 2 * BROKERS_MAX:
                del self._reports[key]

    async def _ask(self, key: _Key, may_ask: asyncio.Semaphore) -> None:
        if key not in self._reports or self._reports[key]["state"] == "unregistered":
            self._note(key, "asked")
        async with may_ask:
            reader = ClusterReader(self._client, (), ANSWER_TIMEOUT_MS)
            # The own one reads its queues from the store: replies of many queues would take the engine's time.
            is_own = self._is_own(key[2])
            broker = OwnBroker(reader, self._machines.broker) if is_own else RemoteBroker(reader, key[2])
            try:
                async with asyncio.timeout(BROKER_TIMEOUT_S):
                    facts, page = await read_broker(broker, self._topics[:TOPICS_MAX], self._groups[:GROUPS_MAX])
            except TimeoutError:
                self._note(key, "silent", in_all_languages("live.brokers.why_slow", seconds=f"{BROKER_TIMEOUT_S:g}"))
            except (MQClientError, ProtocolError) as error:
                self._note(key, "refuses" if isinstance(error, MQBrokerError) else "silent", why_no_answer(error))
            else:
                self._note(key, "answers")
                self._reports[key] = {**self._reports[key], "facts": facts, "page": page}

    def _note(self, key: _Key, state: str, why: dict[str, str] | None = None) -> None:
        """Note how the broker is; a state that stays keeps its begin."""
        name, broker_id, address = key
        last = self._reports.get(key)
        is_same = last is not None and last["state"] == state
        self._reports[key] = {
            "name": client_text(name),
            "id": broker_id,
            "address": client_text(address),
            "is_own": self._is_own(address),
            "state": state,
            "since_us": last["since_us"] if last is not None and is_same else self._now_us(),
            "why": why,
            "page": None if last is None else last["page"],
            "facts": None if last is None else last["facts"],
        }

    async def close(self) -> None:
        """Stop asking, and close the connections."""
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)
        await self._client.shutdown()
        await self._runtime.close()
