"""The simulated network: hosts with addresses, listeners, links with latency and faults.

Every node has one address, ``10.0.0.N``; the ``host`` passed to ``listen`` is ignored. A connect may use the address,
the node's name, or ``127.0.0.1`` for the node itself. Simplified compared with TCP: no retransmission after losses, no
half-closed connections; bandwidth limits only if configured.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from engine.runtime.connection_limits import CONNECTIONS_LIMIT, UNSENT_ALL_LIMIT_BYTES
from engine.runtime.lab.lab_actor import LabActor, LabNode
from engine.runtime.lab.lab_bandwidth import LabBandwidth
from engine.runtime.lab.lab_connection import FRAME_ARRIVES, LabConnection
from engine.runtime.lab.lab_event import LabEvent
from engine.runtime.lab.lab_link_fault import LinkFault, OutOfOrder, Parcel, ParcelKind, Partition
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.port import AddressInUse, ConnectFailed, Connection, FrameHandler
from engine.runtime.unsent_budget import UnsentBudget

#: The latency in one direction, typical of a small data centre.
DEFAULT_LATENCY_US = 500
#: The latency from a node to itself, in one direction.
LOOPBACK_LATENCY_US = 50

#: One copy, no extra delay.
_ON_TIME = (0,)

_FIRST_EPHEMERAL_PORT = 40_000
_EPHEMERAL_PORTS = 20_000
_FIRST_FREE_LISTENER_PORT = 30_000


@dataclass
class _Host:
    """One machine, which outlasts the incarnations of its node."""

    ip: str
    #: The current or last incarnation.
    node: LabNode
    #: False while the machine is off or cut off: it does not even refuse connections.
    answers: bool = True
    listeners: dict[int, LabListener] = field(default_factory=dict)
    connection_count: int = 0
    connections: dict[LabConnection, None] = field(default_factory=dict)


class LabListener:
    """A listening port of a lab node, perhaps with additional ones."""

    def __init__(self, host: _Host, handler_factory: Callable[[], FrameHandler], unsent_limit_bytes: int) -> None:
        self.address = ""
        self._host = host
        self.handler_factory = handler_factory
        self.budget = UnsentBudget(unsent_limit_bytes)
        #: Connections accepted here and still open.
        self.accepted: dict[LabConnection, None] = {}

    @property
    def unsent_bytes(self) -> int:
        return self.budget.total_bytes

    @property
    def cut_connections(self) -> int:
        return self.budget.cut_connections

    async def listen_also(self, port: int) -> str:
        return self.claim(port)

    def claim(self, port: int) -> str:
        """Take ``port`` of the host (0: a free one) and return the address. Raises :class:`AddressInUse`."""
        host = self._host
        if port == 0:
            port = _FIRST_FREE_LISTENER_PORT
            while port in host.listeners:
                port += 1
        if port in host.listeners:
            raise AddressInUse(f"{host.ip}:{port} is in use already")
        host.listeners[port] = self
        return f"{host.ip}:{port}"

    async def close(self) -> None:
        for port in [port for port, listener in self._host.listeners.items() if listener is self]:
            del self._host.listeners[port]
        for connection in list(self.accepted):
            connection.close()


class LabNetwork:
    """The hosts and links of one world."""

    def __init__(
        self,
        loop: LabLoop,
        seed: int,
        latency_us: int = DEFAULT_LATENCY_US,
        jitter_us: int = 0,
        bytes_per_s: int | None = None,
    ) -> None:
        self.loop = loop
        self.latency_us = latency_us
        #: The maximum random addition to each parcel's latency, drawn from the world's seed.
        self.jitter_us = jitter_us
        #: None: a frame arrives all at the same time, however long it is.
        self.bandwidth = None if bytes_per_s is None else LabBandwidth(bytes_per_s)
        #: The latency of single directions: (source, target) -> microseconds.
        self.latencies_us: dict[tuple[str, str], int] = {}
        #: The faults, which are asked in order about every parcel.
        self.faults: list[LinkFault] = []
        #: Observers of every parcel passed to a link, with the delays in microseconds after which its copies arrive
        #: (none: it is dropped).
        self.parcel_watchers: list[Callable[[Parcel, tuple[int, ...]], None]] = []
        #: Observers of every frame that a cut has lost in transit.
        self.cut_watchers: list[Callable[[Parcel], None]] = []
        self._seed = seed
        self._random: random.Random | None = None
        self._hosts: dict[str, _Host] = {}
        self._connection_counts: dict[tuple[str, str], int] = {}
        self._actor = loop.new_actor("network", loop.root.node)
        self._context = loop.context_of(self._actor)

    # ------------------------------------------------------------------------------ hosts

    def attach(self, node: LabNode) -> str:
        """Attach a new incarnation to the network and return its IP address."""
        host = self._hosts.get(node.name)
        if host is None:
            number = len(self._hosts) + 1
            host = self._hosts[node.name] = _Host(f"10.0.{number // 256}.{number % 256}", node)
        host.node = node
        host.answers = True
        return host.ip

    def node_crashed(self, node: LabNode, *, silent: bool) -> None:
        """End the connections of a crashed process: its peers' are reset, or, if ``silent``, half open.

        Silent is a power cut or a cut cable: there is no reply, and peers notice by their own timers.
        """
        host = self._hosts[node.name]
        host.answers = not silent
        host.listeners.clear()
        connections, host.connections = list(host.connections), {}
        for connection in connections:
            connection.abandon()
            if not silent:
                peer, reason = connection.peer, "connection reset: the other process ended"
                self.carry(connection, ParcelKind.CLOSE, b"", "connection closes", peer.close_arrives, reason)

    # ------------------------------------------------------------------------------ parcels

    def carry(
        self,
        sender: LabConnection,
        kind: ParcelKind,
        data: bytes,
        label: str,
        arrive: Callable[..., object],
        *arguments: object,
    ) -> int:
        """Send one parcel to the other end of ``sender``'s connection; return how many copies are in transit."""
        receiver = sender.peer
        parcel = Parcel(kind, sender.node.name, receiver.node.name, data)
        delays_us = self._delays_us(parcel, sender)
        for delay_us in delays_us:
            if receiver.node.alive:
                arrival = self.loop.post(receiver.actor, receiver.context, label, delay_us, arrive, *arguments)
                if self.bandwidth is not None and kind is ParcelKind.FRAME and parcel.source != parcel.target:
                    now_us = self.loop.schedule.now_us
                    self.bandwidth.note(parcel, arrival, now_us, partial(sender.arrived, len(data)))
            elif self._hosts[receiver.node.name].answers:
                # The machine is up but does not know the connection (any more), and says so.
                reset_us = delay_us + self._latency_us(receiver.node.name, sender.node.name)
                reason = "connection reset: the other end knows no such connection"
                self.loop.post(sender.actor, sender.context, "connection reset", reset_us, sender.close_arrives, reason)
        return len(delays_us)

    def _delays_us(self, parcel: Parcel, sender: LabConnection | None = None) -> tuple[int, ...]:
        """Return how long each copy of ``parcel`` takes; on the connection of ``sender`` none overtakes another."""
        now_us = self.loop.schedule.now_us
        extra_us = self._extra_delays_us(parcel)
        latency_us = self._latency_us(parcel.source, parcel.target)
        if self.bandwidth is not None and parcel.source != parcel.target:
            latency_us += self.bandwidth.leaves_after_us(parcel, now_us)
        if sender is not None and sender.node.stalled_until_us > now_us:
            # The sending process waits for its disk first.
            latency_us += sender.node.stalled_until_us - now_us
        keeps_order = sender is not None and not isinstance(extra_us, OutOfOrder)
        delays: list[int] = []
        for extra in extra_us:
            delay_us = latency_us + extra
            if sender is not None and keeps_order:
                delay_us = max(delay_us, sender.last_arrival_us - now_us)
                sender.last_arrival_us = now_us + delay_us
            delays.append(delay_us)
        delays_us = tuple(delays)
        for watch in self.parcel_watchers:
            watch(parcel, delays_us)
        return delays_us

    def cut(self, partition: Partition) -> None:
        """Begin ``partition``: frames of which not all bytes have left are lost."""
        if self.bandwidth is not None:
            for parcel in self.bandwidth.cut(partition, self.loop.schedule.now_us):
                for watch in self.cut_watchers:
                    watch(parcel)

    def drop_under_way(self, source: str, target: str, due_us: int, index: int) -> bool:
        """Lose a frame, with all its copies, that would arrive at ``target`` at that virtual time. False: no such
        frame.

        :param index: the index among the frames that would arrive then, in the order in which they were sent.
        """
        links = {end.actor: end for end in self._hosts[target].connections if end.peer.node.name == source}
        due = [event for event in self.loop.schedule.timers_due_at(due_us) if _is_frame(event) and event.actor in links]
        # A frame sent twice is the same bytes object twice; two equal frames are two objects.
        frames = list({id(event.arguments[0]): event for event in due}.values())
        if index >= len(frames):
            return False
        (data,) = cast("tuple[bytes]", frames[index].arguments)
        link = links[frames[index].actor]
        for event in list(self.loop.schedule.running_timers()):
            if event.actor is link.actor and _is_frame(event) and event.arguments[0] is data:
                event.cancel()
                link.peer.arrived(len(data))
        for watch in self.cut_watchers:
            watch(Parcel(ParcelKind.FRAME, source, target, data))
        return True

    def _extra_delays_us(self, parcel: Parcel) -> tuple[int, ...]:
        for fault in self.faults:
            opinion = fault.extra_delays_us(parcel)
            if opinion is not None:
                return opinion if parcel.kind is ParcelKind.FRAME else opinion[:1]
        return _ON_TIME

    def _latency_us(self, source: str, target: str) -> int:
        default_us = LOOPBACK_LATENCY_US if source == target else self.latency_us
        latency_us = self.latencies_us.get((source, target), default_us)
        if self.jitter_us:
            if self._random is None:
                self._random = random.Random(f"{self._seed}:network")
            latency_us += self._random.randrange(self.jitter_us + 1)
        return latency_us

    # ------------------------------------------------------------------------------ listening and connecting

    def listen(
        self, node: LabNode, port: int, handler_factory: Callable[[], FrameHandler], unsent_limit_bytes: int
    ) -> LabListener:
        """Accept connections at ``port`` of ``node``; 0: a free one. Raises :class:`AddressInUse`."""
        listener = LabListener(self._hosts[node.name], handler_factory, unsent_limit_bytes)
        listener.address = listener.claim(port)
        return listener

    def begin_connect(
        self, node: LabNode, address: str, handler: FrameHandler, outcome: asyncio.Future[Connection]
    ) -> None:
        """Send a connection request; ``outcome`` gets the open connection or :class:`ConnectFailed`, or nothing."""
        target, port = self._find(node, address)
        for delay_us in self._delays_us(Parcel(ParcelKind.CONNECT, node.name, target.node.name, b"")):
            self.loop.post(
                self._actor,
                self._context,
                "connection request arrives",
                delay_us,
                lambda: self._request_arrives(node, target, port, handler, outcome),
            )

    def _find(self, node: LabNode, address: str) -> tuple[_Host, int]:
        name, _, port_text = address.rpartition(":")
        if not name or not port_text.isdigit():
            raise ConnectFailed(f"cannot connect to {address!r}: an address is host:port")
        if name in ("127.0.0.1", "localhost"):
            return self._hosts[node.name], int(port_text)
        for host in self._hosts.values():
            if name in (host.ip, host.node.name):
                return host, int(port_text)
        raise ConnectFailed(f"cannot connect to {address}: there is no such host")

    def _request_arrives(
        self,
        client: LabNode,
        host: _Host,
        port: int,
        handler: FrameHandler,
        outcome: asyncio.Future[Connection],
    ) -> None:
        if not host.answers or not client.alive:
            return
        listener = host.listeners.get(port)
        if listener is None or len(listener.accepted) >= CONNECTIONS_LIMIT:
            latency_us = self._latency_us(host.node.name, client.name)
            refusal = ConnectFailed(f"cannot connect to {host.ip}:{port}: connection refused")
            self.loop.post(self._actor, self._context, "connection refused", latency_us, _fail, outcome, refusal)
            return
        server_end, client_end = self._make_ends(client, host, port, handler, listener)
        self.loop.post(server_end.actor, server_end.context, "connection opens", 0, server_end.made)
        self.carry(server_end, ParcelKind.ACCEPT, b"", "connection opens", self._accepted, client_end, outcome)

    def _make_ends(
        self, client: LabNode, host: _Host, port: int, handler: FrameHandler, listener: LabListener
    ) -> tuple[LabConnection, LabConnection]:
        """Return both ends of a new connection, the server's first."""
        client_host = self._hosts[client.name]
        client_port = _FIRST_EPHEMERAL_PORT + client_host.connection_count % _EPHEMERAL_PORTS
        client_host.connection_count += 1
        client_address = f"{client_host.ip}:{client_port}"
        server_address = f"{host.ip}:{port}"
        pair = (client.name, host.node.name)
        count = self._connection_counts[pair] = self._connection_counts.get(pair, 0) + 1
        number = f"#{count}" if count > 1 else ""
        to_server = f"{client.name}->{host.node.name}{number}"
        to_client = f"{host.node.name}->{client.name}{number}"
        server_end = LabConnection(
            self, host.node, listener.handler_factory, server_address, client_address, to_server, listener.budget
        )
        client_end = LabConnection(self, client, lambda: handler, client_address, server_address, to_client)
        server_end.peer, client_end.peer = client_end, server_end
        host.connections[server_end] = None
        client_host.connections[client_end] = None
        listener.accepted[server_end] = None
        return server_end, client_end

    def _accepted(self, client_end: LabConnection, outcome: asyncio.Future[Connection]) -> None:
        if outcome.done():
            # The connect has timed out: the server is notified.
            client_end.close()
            return
        client_end.made()
        outcome.set_result(client_end)

    def link_actors(self) -> list[LabActor]:
        """Return the receiving ends of all open connections."""
        return [connection.actor for host in self._hosts.values() for connection in host.connections]

    def forget(self, connection: LabConnection) -> None:
        """Remove a closed connection."""
        host = self._hosts[connection.node.name]
        host.connections.pop(connection, None)
        for listener in host.listeners.values():
            listener.accepted.pop(connection, None)
            listener.budget.forget(connection)


def _is_frame(event: LabEvent) -> bool:
    return event.label == FRAME_ARRIVES


def _fail(outcome: asyncio.Future[Connection], failure: ConnectFailed) -> None:
    if not outcome.done():
        outcome.set_exception(failure)


def _close_opened(outcome: asyncio.Future[Connection]) -> None:
    """Close a connection that opens at the very moment at which its caller stops waiting."""
    if outcome.done() and not outcome.cancelled() and outcome.exception() is None:
        outcome.result().close()


class LabNodeNetwork:
    """The network as one node incarnation sees it: the port's ``Network``."""

    def __init__(self, network: LabNetwork, node: LabNode) -> None:
        self._network = network
        self._node = node

    async def listen(
        self,
        host: str,
        port: int,
        handler_factory: Callable[[], FrameHandler],
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
    ) -> LabListener:
        """Listen as the port requires; ``host`` is ignored, because a lab node has one address."""
        return self._network.listen(self._node, port, handler_factory, unsent_limit_bytes)

    async def connect(self, address: str, handler: FrameHandler, timeout_ms: int) -> Connection:
        outcome: asyncio.Future[Connection] = self._network.loop.create_future()
        self._network.begin_connect(self._node, address, handler, outcome)
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                return await outcome
        except TimeoutError:
            _close_opened(outcome)
            raise ConnectFailed(f"cannot connect to {address}: no answer within {timeout_ms} ms") from None
        except asyncio.CancelledError:
            _close_opened(outcome)
            raise
