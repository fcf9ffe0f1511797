"""A producer of a lab world, for its lane on the stage."""

from __future__ import annotations

from typing import TypedDict

from app.picture.world.bank import Bank, CashMachine


class InFlight(TypedDict):
    """A message that a client has sent, and whose outcome it does not know yet."""

    key: str
    since_us: int


class SendCounts(TypedDict):
    """What became of the messages of a client that sends."""

    sent: int
    acknowledged: int
    failed: int
    #: Neither: an answer is missing.
    unknown: int
    in_flight: list[InFlight]


class RunningTransaction(TypedDict):
    """A local transaction, or a check-back, that runs."""

    key: str
    #: 0 for the local transaction itself, n for the nth check-back.
    check: int
    since_us: int


class EndedTransaction(TypedDict):
    """A local transaction, or a check-back, that has ended."""

    key: str
    check: int
    result: str
    time_us: int


class LocalTransactions(TypedDict):
    """The local transactions of a producer."""

    running: list[RunningTransaction]
    #: The last ones.
    ended: list[EndedTransaction]


class Permits(TypedDict):
    """Permits of asynchronous sends."""

    in_flight: int
    in_flight_max: int
    waiting: int


class Requests(TypedDict):
    """Requests that wait for a reply."""

    waiting: int
    replied: int
    not_replied: int


class AvoidedBroker(TypedDict):
    """A slow broker that is avoided."""

    broker: str
    latency_ms: int
    until_us: int


class Sending(TypedDict):
    """How a producer sends."""

    #: Of its traffic: "sync", "async", "oneway", "request".
    modes: list[str]
    #: None: it does not send asynchronously.
    permits: Permits | None
    #: None: it sends no requests.
    requests: Requests | None
    #: None: it does not avoid slow brokers.
    avoided: list[AvoidedBroker] | None


class MessageTrace(TypedDict):
    """The counters of a client with message trace."""

    noted: int
    sent: int
    dropped: int
    lost: int


class Producer(SendCounts):
    """A producer."""

    group: str
    #: None while no process runs.
    client_id: str | None
    #: None: it does not send in transactions.
    transactions: LocalTransactions | None
    #: None: it only sends and waits, and avoids no broker.
    sending: Sending | None
    trace: MessageTrace | None
    bank: Bank | None
    cash_machine: CashMachine | None
