"""Two-phase commits of a lab world: their nodes, and their course next to transactional messages."""

from __future__ import annotations

from typing import TypedDict

from app.picture.world.bank import Bank, CashMachine


class BranchVote(TypedDict):
    """A branch as the coordinator knows it."""

    resource: str
    vote: str


class GlobalTransaction(TypedDict):
    """An open transaction of the coordinator."""

    xid: str
    key: str
    state: str
    reason: str
    branches: list[BranchVote]


class CoordinatorLog(TypedDict):
    """Positions of the coordinator's log, in bytes."""

    end: int
    flushed: int
    size_bytes: int


class Coordinator(TypedDict):
    """A coordinator."""

    #: Number of its process.
    process: int
    log: CoordinatorLog
    #: How many are open.
    open: int
    #: How many have ended.
    ended: int
    #: Those that are open.
    transactions: list[GlobalTransaction]


class CoordinatorNode(TypedDict):
    """The node of a coordinator."""

    #: None while no process runs.
    coordinator: Coordinator | None


class TransferUnderWay(TypedDict):
    """A transfer whose outcome the manager does not know."""

    key: str
    xid: str
    #: Its next step, or what it waits for.
    phase: str
    since_us: int


class TransferEnded(TypedDict):
    """A transfer that has ended."""

    key: str
    xid: str
    outcome: str
    reason: str
    time_us: int


class Manager(TypedDict):
    """A transaction manager."""

    under_way: TransferUnderWay | None
    #: Outcome -> number of transfers.
    counts: dict[str, int]
    #: The newest ones.
    ended: list[TransferEnded]
    #: How many transfers it will make.
    total: int


class ManagerNode(TypedDict):
    """The node of a transaction manager."""

    manager: Manager


class Branch(TypedDict):
    """A branch as its resource manager knows it."""

    xid: str
    key: str
    doing: str
    state: str
    reason: str
    since_us: int


class LockWait(TypedDict):
    """A task that waits for the lock on the account."""

    waiter: str
    since_us: int


class Resource(TypedDict):
    """A resource manager."""

    #: The open ones, then the newest that are over.
    branches: list[Branch]
    #: The transaction that has the lock on the account, or None, like the next.
    holder: str | None
    held_us: int | None
    waiting: list[LockWait]


class ResourceManagerNode(TypedDict):
    """The node of a resource manager."""

    #: None while no process runs.
    resource: Resource | None
    bank: Bank
    cash_machine: CashMachine | None


#: A time in us, and the state from then on.
Step = list[int | str]


class BranchCourse(TypedDict):
    """A branch over time."""

    node: str
    xid: str
    key: str
    doing: str
    state: str
    reason: str
    steps: list[Step]


class TransactionCourse(TypedDict):
    """A transaction over time."""

    node: str
    xid: str
    key: str
    state: str
    reason: str
    steps: list[Step]
    branches: list[BranchCourse]


class MessageTransfer(TypedDict):
    """A transfer by transactional message."""

    key: str
    node: str
    sent_us: int
    #: When its local transaction begins.
    debit_us: int | None
    debited_us: int | None
    credited_us: int | None
    #: "credited", "rolled-back", "refused" or None.
    end: str | None


class Blocked(TypedDict):
    """A wait for a lock."""

    node: str
    bank: str
    account: str
    waiter: str
    #: The transaction that has the lock.
    by: str
    since_us: int
    until_us: int | None
    in_vain: bool


class CashMachineWaits(TypedDict):
    """All waits of a cash machine."""

    node: str
    bank: str
    count: int
    longest_us: int
    in_vain: int


class Downtime(TypedDict):
    """A time without a process."""

    node: str
    since_us: int
    until_us: int | None


class TwoPhaseCommits(TypedDict):
    """The two-phase commits of a world."""

    #: The newest ones.
    transactions: list[TransactionCourse]
    #: The newest ones.
    messages: list[MessageTransfer]
    #: The newest ones.
    blocked: list[Blocked]
    waits: list[CashMachineWaits]
    #: The newest ones.
    down: list[Downtime]
