"""A node that is a client of a Raft group: it sends commands one after the other, and follows the leader."""

from __future__ import annotations

import asyncio

from engine.lab.nodes.history import SendInvoked, SendReturned
from engine.lab.nodes.scenario_node import ScenarioNode, WorldContext
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.scenario.kinds.raft import RaftClientSpec
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.replication.raft.errors import RaftFrameRefused
from engine.replication.raft.raft_commands import (
    CommandAnswer,
    CommandStatus,
    RaftClientConfig,
    RaftCommand,
    decode_command_frame,
    encode_command_frame,
)
from engine.runtime.future_waits import cancel_all
from engine.runtime.port import ConnectFailed, Connection


class RaftClientNode(ScenarioNode):
    """A Raft client's node.
    :ivar asked: the peer that it asks: the leader, as far as it knows.
    :ivar pending: the command that it waits for, or empty.
    """

    spec: RaftClientSpec

    def __init__(self, world: WorldContext, spec: RaftClientSpec) -> None:
        super().__init__(world, spec)
        self.sent = self.acknowledged = self.refused = self.unknown = 0
        self.asked = ""
        self.pending = ""
        self.pending_since_us = 0
        #: Next command of each traffic: after a crash the application continues with the following one.
        self._next_numbers = [0] * len(spec.traffic)
        self._attempts = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._lines: dict[str, _Line] = {}

    async def _start(self) -> None:
        config = self.config(RaftClientConfig)
        self.asked = self.asked or self._peers()[0].name
        self._lines = {}
        self._tasks = [
            asyncio.create_task(self._send_all(index, traffic, config), name=f"commands {index}")
            for index, traffic in enumerate(self.spec.traffic)
        ]

    def _peers(self) -> list[RaftPeerNode]:
        return self.world.roles(RaftPeerNode)

    async def _send_all(self, index: int, traffic: TrafficSpec, config: RaftClientConfig) -> None:
        await self.until(traffic.start_ms)
        while self._next_numbers[index] < traffic.count:
            begun_us = self.world.now_us
            number = self._next_numbers[index]
            self._next_numbers[index] += 1
            await self._send(traffic.fill_in(traffic.key, self.name, number), config)
            await self.until(begun_us // 1_000 + traffic.every_ms)

    async def _send(self, key: str, config: RaftClientConfig) -> None:
        self.world.history.sends_invoked.append(SendInvoked(*self.here_and_now, key, ""))
        self.sent += 1
        self.pending, self.pending_since_us = key, self.world.now_us
        until_us = self.world.now_us + config.give_up_ms * 1_000
        may_be_there = False
        answer = None
        while self.world.now_us < until_us:
            answer = await self._ask(key, config.answer_timeout_ms)
            if answer is not None and answer.status == CommandStatus.COMMITTED:
                break
            may_be_there |= answer is None or answer.status == CommandStatus.UNKNOWN
            if answer is not None and answer.status == CommandStatus.NOT_LEADER and answer.leader:
                self.asked = answer.leader
            else:
                names = [role.name for role in self._peers()]
                self.asked = names[(names.index(self.asked) + 1) % len(names)]
                await asyncio.sleep(config.retry_ms / 1_000)
        self._note_end(key, answer, may_be_there=may_be_there)

    def _note_end(self, key: str, answer: CommandAnswer | None, *, may_be_there: bool) -> None:
        self.pending = ""
        status, index, leader = "ok", -1, ""
        detail = answer.detail if answer is not None else "no answer"
        if answer is not None and answer.status == CommandStatus.COMMITTED:
            self.acknowledged += 1
            index, leader, detail = answer.index, self.asked, f"term {answer.term}"
        elif may_be_there:
            self.unknown += 1
            status = "unknown"
        else:
            self.refused += 1
            status = "refused"
        self.world.history.sends_returned.append(
            SendReturned(*self.here_and_now, key, status, "", 0, index, "", leader, detail)
        )

    async def _ask(self, key: str, timeout_ms: int) -> CommandAnswer | None:
        """Return the peer's answer to the command; None if it is unknown whether it was accepted."""
        name = self.asked
        self._attempts += 1
        line = self._lines.get(name)
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                if line is None or line.is_closed:
                    line = self._lines[name] = _Line()
                    role = next(role for role in self._peers() if role.name == name)
                    await self.runtime.network.connect(role.client_address, line, timeout_ms)
                return await line.ask(RaftCommand(self._attempts, key))
        except ConnectFailed:
            return CommandAnswer(self._attempts, CommandStatus.NOT_LEADER)
        except TimeoutError:
            if line is not None:
                line.close()
            return None

    async def _stop(self) -> None:
        await cancel_all(self._tasks)

    def _forget(self) -> None:
        self._tasks = []
        self._lines = {}
        self.pending = ""


class _Line:
    """A connection to a peer, with at most one command that waits for its answer."""

    def __init__(self) -> None:
        self.is_closed = False
        self._connection: Connection | None = None
        self._answer: asyncio.Future[CommandAnswer | None] | None = None
        self._number = 0

    async def ask(self, command: RaftCommand) -> CommandAnswer | None:
        """Return the peer's answer; None if the connection is lost first."""
        if self._connection is None:
            return None
        self._number = command.number
        self._answer = asyncio.get_running_loop().create_future()
        self._connection.send_frame(encode_command_frame(command))
        return await self._answer

    def close(self) -> None:
        """Close the connection and stop waiting."""
        self.is_closed = True
        if self._connection is not None:
            self._connection.close()

    def connection_made(self, connection: Connection) -> None:
        self._connection = connection
        if self.is_closed:
            connection.close()

    def frame_received(self, frame: bytes) -> None:
        try:
            answer = decode_command_frame(frame)
        except RaftFrameRefused:
            self.close()
            return
        if isinstance(answer, CommandAnswer) and answer.number == self._number:
            self._end(answer)

    def connection_lost(self, reason: str) -> None:
        self.is_closed = True
        self._connection = None
        self._end(None)

    def _end(self, answer: CommandAnswer | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
