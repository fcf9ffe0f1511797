"""A scenario: a cluster, its traffic, breakpoints and invariants.

Times are virtual milliseconds from the beginning of the world. :func:`engine.lab.scenario.scenario_text.parse_scenario`
makes these objects from a text; the fields are documented here, and their allowed values there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.bank.paying_bank import TransferVariant
from engine.lab.scenario.condition import Condition
from engine.lab.scenario.listener_spec import ListenerSpec
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.lab.work.work_spec import WorkSpec
from engine.protocol.enums import ExpressionType
from engine.runtime.lab.lab_page_cache import PageCacheLimits

#: A checked setting of a node: number, switch or text.
SettingValue = int | float | bool | str
#: A setting from the beginning: node, name, value.
NodeSetting = tuple[str, str, SettingValue]

#: A checked field of a command.
CommandValue = SettingValue | tuple[str, ...]

#: Languages of every text for people.
LANGUAGES = ("en", "zh")


class Role(StrEnum):
    """Role of a node; for stores and services that listeners use see :mod:`engine.lab.work`."""

    NAME_SERVER = "name_server"
    BROKER = "broker"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    TRANSACTION_COORDINATOR = "transaction_coordinator"
    TRANSACTION_MANAGER = "transaction_manager"
    RESOURCE_MANAGER = "resource_manager"
    DATABASE = "database"
    REDIS = "redis"
    SERVICE = "service"
    #: Another system than RocketMQ, see :mod:`engine.kafka`.
    KAFKA_BROKER = "kafka_broker"
    KAFKA_PRODUCER = "kafka_producer"
    KAFKA_CONSUMER = "kafka_consumer"
    #: With a controller the brokers are a cluster, see :mod:`engine.kafka.replication`.
    KAFKA_CONTROLLER = "kafka_controller"
    #: A majority log alone, see :mod:`engine.replication.raft`.
    RAFT_PEER = "raft_peer"
    RAFT_CLIENT = "raft_client"


#: Roles that need neither a name server nor a RocketMQ broker.
KAFKA_ROLES = (Role.KAFKA_BROKER, Role.KAFKA_PRODUCER, Role.KAFKA_CONSUMER, Role.KAFKA_CONTROLLER)
#: The same holds for these.
RAFT_ROLES = (Role.RAFT_PEER, Role.RAFT_CLIENT)
_WITH_STORES = (Role.BROKER, Role.KAFKA_BROKER, Role.KAFKA_CONTROLLER, Role.DATABASE, Role.RAFT_PEER)


class TransactionWord(StrEnum):
    """Result of a call of a producer's transaction listener."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    #: UNKNOW: the broker must ask later.
    UNKNOWN = "unknown"
    #: Counts as UNKNOWN.
    THROWS = "throws"
    #: Checks only: the outcome in the group's database, see :mod:`engine.lab.nodes.local_transactions`.
    LOOKED_UP = "looked-up"


class BankAnswer(StrEnum):
    """Answer of a paying bank's transaction listener when its local transaction has ended."""

    #: COMMIT when the debit is committed, else ROLLBACK.
    OUTCOME = "outcome"
    #: UNKNOW in any case; the broker will ask.
    UNKNOWN = "unknown"
    #: It fails after its work is done. Counts as UNKNOWN.
    THROWS = "throws"


class FaultKind(StrEnum):
    """Kinds of random faults, see :mod:`engine.lab.sweep.sweep`."""

    CRASH = "crash"
    CRASH_POWER = "crash-power"
    PAUSE = "pause"
    PARTITION = "partition"
    DELAY = "delay"
    LOSS = "loss"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    CLOCK_SKEW = "clock-skew"
    DISK = "disk"
    WIPE = "wipe"  #: A Raft peer has lost its disk, a bit of it, or its log's last second; no other node.
    FLIP = "flip"
    LAST_SECOND = "last-second"
    #: A listener is slow, fails or hangs for a while.
    LISTENER = "listener"
    #: Consumers join, leave and are killed; a topic gets more queues.
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class FaultModel:
    """Fault model of random runs of a scenario. Within it the invariants must hold.

    :ivar kinds: allowed faults, in the order of the text.
    :ivar max_faults: most faults of one run.
    """

    kinds: tuple[FaultKind, ...] = ()
    max_faults: int = 5


@dataclass(frozen=True, slots=True)
class TransactionSpec:
    """Behaviour of a producer's transaction listener. With it, everything the producer sends is sent in a transaction.

    :ivar executes: how local transactions end: message n takes word n, cyclically.
    :ivar duration_ms: how long one takes.
    :ivar checks: how the check-backs of a message are answered: the nth takes word n, later ones the last word.
    :ivar check_duration_ms: how long an answer takes.
    """

    executes: tuple[TransactionWord, ...] = (TransactionWord.COMMIT,)
    duration_ms: int = 10
    checks: tuple[TransactionWord, ...] = (TransactionWord.LOOKED_UP,)
    check_duration_ms: int = 5


@dataclass(frozen=True, slots=True)
class BankSpec:
    """The bank of a producer or a consumer, see :mod:`engine.bank`. Its database is on the node's disk.

    :ivar account: the one account of it that this is about, with ``opening`` at the beginning.
    :ivar amount, to, way: producer: what each of its messages moves, to which account, and in which way.
    :ivar duration_ms: producer: how long a local transaction stays open. That of a consumer is its listener's.
    :ivar check_duration_ms: producer: how long answering a check-back takes.
    :ivar answers: producer: what its listener answers: transfer n takes word n, and round again.
    :ivar idempotent: consumer: whether it ignores a transfer that it has credited before.
    """

    name: str
    account: str
    opening: int
    amount: int = 0
    to: str = ""
    way: TransferVariant = TransferVariant.TRANSACTION
    duration_ms: int = 20
    check_duration_ms: int = 5
    answers: tuple[BankAnswer, ...] = (BankAnswer.OUTCOME,)
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class TransfersSpec:
    """Transfers of a transaction manager, one after the other: the same amount from one bank to another.

    :ivar source, target: names of resource managers: their accounts are debited and credited.
    :ivar key: names each transfer; ``{n}`` is its number, from 0.
    """

    source: str
    target: str
    amount: int
    count: int
    every_ms: int
    start_ms: int
    key: str

    def key_of(self, number: int) -> str:
        """Return the name of transfer ``number``."""
        return self.key.replace("{n}", str(number))


@dataclass(frozen=True, slots=True)
class CashMachineSpec:
    """A customer who looks up the balance of a bank's account, under the lock that a withdrawal needs, repeatedly.

    :ivar count: number of look-ups.
    """

    every_ms: int
    start_ms: int
    count: int


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A broker's disk. ``page_cache`` None: unlimited memory, and reading takes no time."""

    fsync_ms: int = 2
    page_cache: PageCacheLimits | None = None


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The specification of one node. Which fields are used depends on the role.

    :ivar group: producer and consumer.
    :ivar traffic: producer, of Kafka too; empty for one that only exists.
    :ivar broker: clients of Kafka: the node that they ask first (Kafka: ``bootstrap.servers``).
    :ivar partitions: a consumer of Kafka: those that it is assigned; empty: all of its topic.
    :ivar transaction: producer; None: it sends ordinary messages.
    :ivar bank: producer, consumer and resource manager; None: it moves no money.
    :ivar work: consumer; None: its listener only takes time.
    :ivar stock: database: the items at the beginning.
    :ivar replica_lag_ms: redis: what it forgets when a replica takes its place.
    :ivar transfers: transaction manager; None: it makes none.
    :ivar cash_machine: resource manager and a producer with a bank; None: it has none.
    :ivar topic: consumer, as are all below but ``flush``, ``disk`` and ``settings``.
    :ivar expression: which messages it wants, by tags or, as ``expression_type`` says, by an SQL92 condition.
    :ivar model: ``clustering`` or ``broadcasting``.
    :ivar orderly: the listener gets the messages of a queue one after the other.
    :ivar consume_from: where a group without a stored offset begins: ``first``, ``last`` or ``timestamp``.
    :ivar from_ms: with ``timestamp``: at the first message stored then or later, in ms of the world; None: as RocketMQ,
        half an hour before the consumer starts.
    :ivar stop_ms: when the client shuts down in order; None: never.
    :ivar detect_loss: it looks at the numbers of its messages, see :mod:`engine.lab.nodes.loss_watch`.
    :ivar flush: broker: ``async`` or ``sync``.
    :ivar slave_of: broker: the one that it follows; empty: it is a master.
    :ivar is_voter: peer of Raft: whether it is of the group from the beginning.
    :ivar settings: by our names, see :mod:`engine.lab.scenario.settings`.
    """

    name: str
    role: Role
    group: str = ""
    traffic: tuple[TrafficSpec, ...] = ()
    broker: str = ""
    partitions: tuple[int, ...] = ()
    transaction: TransactionSpec | None = None
    bank: BankSpec | None = None
    work: WorkSpec | None = None
    stock: int = 0
    replica_lag_ms: int = 0
    transfers: TransfersSpec | None = None
    cash_machine: CashMachineSpec | None = None
    topic: str = ""
    expression: str = "*"
    expression_type: ExpressionType = ExpressionType.TAG
    model: str = "clustering"
    orderly: bool = False
    consume_from: str = "first"
    from_ms: int | None = None
    threads: int = 2
    start_ms: int = 0
    stop_ms: int | None = None
    detect_loss: bool = False
    listener: ListenerSpec = field(default_factory=ListenerSpec)
    flush: str = "async"
    slave_of: str = ""
    disk: DiskSpec = DiskSpec()
    is_voter: bool = True
    settings: Mapping[str, SettingValue] = field(default_factory=dict)

    @property
    def has_disk(self) -> bool:
        """Return whether it has data on a disk: a broker's store, a bank's database."""
        return self.role in _WITH_STORES or self.bank is not None


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic that exists from the beginning, on every broker; a Kafka topic has a partition for each queue."""

    name: str
    queues: int = 4


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A consumer group that exists from the beginning, on every broker."""

    name: str
    retry_max_times: int = 16
    retry_queues: int = 1


@dataclass(frozen=True, slots=True)
class Command:
    """One action of a user or the story on a world, as data: recorded, sent as a link and repeated.

    :ivar kind: one of :data:`engine.lab.scenario.command.COMMANDS`.
    :ivar value: the fields of its kind, checked and complete.
    """

    kind: str
    target: str = ""
    value: Mapping[str, CommandValue] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the command as JSON; :func:`engine.lab.scenario.command.parse_command` reads it back."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in self.value.items()}
        return {"kind": self.kind, "target": self.target, **fields}


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A command of the story itself, with its time. One that cannot be carried out then is left out."""

    at_ms: int
    command: Command


class Difficulty(StrEnum):
    """Difficulty of a scenario for a learner."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Breaks(StrEnum):
    """The failures of a scenario, built in or caused by a user: one word each, for searching."""

    #: A node's process ends without warning.
    PROCESS = "process"
    POWER = "power"
    DISK = "disk"
    #: Frames are lost, late or doubled, or nothing gets through.
    LINK = "link"
    #: A node pauses for a long time, and continues.
    PAUSE = "pause"
    #: A listener fails, hangs or is slow.
    LISTENER = "listener"
    #: One of the locks of ordered consumption is off.
    LOCK = "lock"
    #: A setting has an unexpected effect, or changes at a bad moment.
    SETTING = "setting"
    #: More messages arrive than are consumed.
    LOAD = "load"
    #: The application uses its client incorrectly.
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags by which a scenario is found in a list, besides its shelf and its length.

    :ivar breaks: empty: nothing goes wrong in it.
    """

    difficulty: Difficulty = Difficulty.MEDIUM
    breaks: tuple[Breaks, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyMoment:
    """The moment of a scenario that its picture shows; :mod:`engine.lab.run.key_moment` goes there.

    :ivar shows: what is visible then, by language.
    :ivar actions: commands on the way.
    :ivar from_ms: only what happens later than this, and than the last of the actions, is waited for.
    :ivar until: what is waited for; None: the first violation of an invariant.
    :ivar plus_ms: how much later the clock stands, with nothing happening meanwhile: a frame is on its way then.
    """

    shows: Mapping[str, str]
    actions: tuple[ScriptLine, ...] = ()
    from_ms: int = 0
    until: Condition | None = None
    plus_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TryButton:
    """One thing to try with a scenario: a command, a run, or both, in this order.

    :ivar label: by language.
    :ivar search: it opens the search for a bad schedule.
    """

    label: Mapping[str, str]
    command: Command | None = None
    run_until: Condition | None = None
    search: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. ``text`` is its source; ``invariants`` is empty for "all that apply".

    :ivar order: scenarios are listed by it, the lowest first: by what a learner needs.
    :ivar suggestion: what to try with it, by language; empty: nothing is suggested.
    :ivar try_buttons: what does it.
    :ivar focus: parts of the stage that it is about, the most important first; empty: all alike.
    """

    name: str
    title: Mapping[str, str]
    about: Mapping[str, str]
    seed: int
    duration_ms: int
    latency_ms: float
    jitter_ms: float
    nodes: tuple[NodeSpec, ...]
    topics: tuple[TopicSpec, ...]
    groups: tuple[GroupSpec, ...]
    script: tuple[ScriptLine, ...]
    breakpoints: tuple[Condition, ...]
    invariants: tuple[str, ...]
    fault_model: FaultModel
    text: str
    #: Names of :data:`engine.lab.scenario.switches.SWITCHES` that are off from the beginning, on all nodes.
    switched_off: tuple[str, ...] = ()
    #: Bandwidth of each direction of each link; None: any frame arrives completely after the latency.
    bytes_per_s: int | None = None
    order: int = 1_000
    suggestion: Mapping[str, str] = field(default_factory=dict)
    try_buttons: tuple[TryButton, ...] = ()
    focus: tuple[str, ...] = ()
    #: One sentence, by language; empty if there is no summary.
    summary: Mapping[str, str] = field(default_factory=dict)
    tags: Tags = Tags()
    key_moment: KeyMoment | None = None

    def node(self, name: str) -> NodeSpec:
        """Return the node with this name. Raises ``KeyError``."""
        for spec in self.nodes:
            if spec.name == name:
                return spec
        raise KeyError(name)

    @property
    def has_banks(self) -> bool:
        """Return whether money is transferred in the scenario."""
        return any(spec.bank is not None for spec in self.nodes)

    @property
    def has_work(self) -> bool:
        """Return whether a listener does work that must be done exactly once."""
        return any(spec.work is not None for spec in self.nodes)

    @property
    def sends_in_transactions(self) -> bool:
        """Return whether half messages are sent: by a producer, or by a listener whose work continues elsewhere."""
        return any(spec.transaction is not None or (spec.work is not None and spec.work.then) for spec in self.nodes)

    def of_role(self, role: Role) -> tuple[NodeSpec, ...]:
        """Return the nodes of one role, in the order of the text."""
        return tuple(spec for spec in self.nodes if spec.role is role)
