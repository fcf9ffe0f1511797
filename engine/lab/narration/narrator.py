"""The caption of the moment: one sentence for viewers about what has just happened in a world.

Not every event has one. The caption stays until something else that matters happens; if one event has done several
things, the most important one is shown. A caption depends only on the events up to the moment, not on when it is
requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from engine.faults.frame_meaning import keys_text
from engine.lab.narration.frame_words import FrameWords
from engine.lab.narration.kafka_words import decision_words
from engine.lab.narration.raft_words import election_words
from engine.lab.narration.relevance import LIGHT_REQUESTS
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import (
    AlarmRaised,
    BankEntry,
    CommandApplied,
    ConsumeBegan,
    ConsumeEnded,
    DeliveryJudged,
    ElectionStep,
    LocalTransactionEnded,
    NodeChanged,
    PagesFetched,
    PartitionDecided,
    SendReturned,
    TransferEnded,
    WorkDone,
)
from engine.lab.scenario.command import COMMANDS
from engine.lab.scenario.kinds.node_spec import System
from engine.lab.scenario.switches import SWITCHES
from engine.lab.witness.deliveries import DONE
from engine.lab.work.work_spec import StepKind
from engine.texts import Text, plain

if TYPE_CHECKING:
    from engine.lab.checkers.watch.violation import Violation
    from engine.lab.run.run import LabRun

Texts = Mapping[str, str]

#: (doing, outcome) of a bank's action -> its caption.
BANK_ACTIONS: Mapping[tuple[str, str], str] = {
    ("debit", "committed"): "caption.debited",
    ("credit", "committed"): "caption.credited",
    ("credit", "duplicate"): "caption.ignored",
    ("check", "commit"): "caption.answers_commit",
    ("check", "rollback"): "caption.answers_rollback",
}
#: Steps whose captions need no further explanation.
MILESTONES: Mapping[str, str] = {
    "marks the process queue dropped": "caption.gives_up",
    "unlocks the queue at the broker": "caption.unlocks",
    "adds the process queue": "caption.takes_over",
}
#: From this count on, something was done again.
_AGAIN = 2
#: Pieces of work that are searched for the same one.
_WORK_BACK = 400
#: Most events that are searched backwards for a step worth a caption.
_STEPS_BACK = 200

#: Weights of captions, from the least to the most important.
LIGHT, PLAIN, HEAVY, GRAVE = range(4)


class _Happened(Protocol):
    """Something that an event has done."""

    @property
    def event(self) -> int: ...


_Entry = TypeVar("_Entry", bound=_Happened)


class Caption(NamedTuple):
    """One sentence.

    :ivar event: the event after which it is true.
    :ivar kind: ``violation``, ``command``, ``node``, ``listener``, ``lock``, ``transaction``, ``lost``, ``frame`` or
        ``step``.
    :ivar weight: 0 to 3: heavier captions stay on screen longer when time passes quickly.
    :ivar keys: keys of messages in the text, to be marked there.
    """

    event: int
    text: Texts
    kind: str
    weight: int = PLAIN
    keys: tuple[str, ...] = ()


#: Returns the caption of what was last, if that happened at this event or later.
_Source = Callable[[int], Caption | None]


class Narrator:
    """Narrate one run, from its creation on: best before the first event."""

    def __init__(self, run: LabRun) -> None:
        self._run = run
        self._words = FrameWords(run.world)
        self._caption: Caption | None = None
        #: What was known when the caption was made.
        self._seen: tuple[int, int, int] = (0, 0, 0)
        history = run.world.history
        self._work_again = _of_last(history.work_done, self._work)
        #: The most severe first.
        self._sources: tuple[_Source, ...] = (
            _of_last(run.violations, self._violation),
            _of_last(history.nodes_changed, self._node),
            _of_last(history.election_steps, self._election),
            _of_last(history.partitions_decided, self._decision),
            _of_last(history.alarms_raised, self._alarm),
            _of_last(history.pages_fetched, self._disk),
            _of_last(history.consumes_began, self._listener),
            _of_last(history.transactions_ended, self._transaction),
            _of_last(history.transfers_ended, self._transfer),
            _of_last(history.bank_entries, self._bank),
            self._work_again,
            _of_last(history.deliveries_judged, self._judged),
            self._frame,
            _of_last(history.consumes_ended, self._listener_end),
            _of_last(history.sends_returned, self._send_end),
            self._step,
        )

    @property
    def caption(self) -> Caption | None:
        """Return the caption of the moment; None if nothing that matters has happened yet."""
        run = self._run
        seen = (run.event_number, len(run.violations), len(run.world.history.commands))
        if seen != self._seen:
            self._caption = self._newest(self._seen[0]) or self._caption
            self._seen = seen
        return self._caption

    def _newest(self, after: int) -> Caption | None:
        """Return the last caption since event ``after``; of several at the same event that of the first source."""
        found: Caption | None = None
        for source in self._sources:
            found = source(after + 1 if found is None else found.event + 1) or found
        return self._command(after if found is None else found.event) or found

    # -------------------------------------------------------------------------- sources

    def _violation(self, last: Violation) -> Caption:
        again = self._work_again(last.event)
        if again is not None and again.event == last.event:
            return again._replace(kind="violation", keys=again.keys + tuple(last.messages))
        message = last.messages[:1]
        # Two listeners have the same message at the same time: this is the case that the locks prevent.
        began = [began for began in self._began_at(last.event) if began.key in message]
        text = self._said_of_two(began) if began else None
        if text is None or text.key != "moment.calls_twice":
            return Caption(last.event, last.text, "violation", GRAVE, tuple(last.messages))
        return Caption(last.event, text, "violation", GRAVE, tuple(last.messages))

    def _command(self, least: int) -> Caption | None:
        """Return the caption of a command, which is given after everything that its event has done."""
        commands = self._run.world.history.commands
        last = _last(commands, least)
        if last is None or len(commands) == self._seen[2]:
            return None
        return Caption(last.event, _said_of_command(last), "command", GRAVE)

    def _node(self, last: NodeChanged) -> Caption:
        key = "moment.dies" if last.status == "crashed" else "moment.starts_again"
        return Caption(last.event, Text(key, node=last.node), "node", GRAVE)

    def _election(self, last: ElectionStep) -> Caption:
        return Caption(last.event, election_words(last), "node", HEAVY)

    def _decision(self, last: PartitionDecided) -> Caption:
        decided = _at(self._run.world.history.partitions_decided, last.event)
        return Caption(last.event, decision_words(decided), "node", HEAVY)

    def _alarm(self, last: AlarmRaised) -> Caption:
        text = Text("moment.alarm", node=last.node, key=last.key, times=last.deliveries)
        return Caption(last.event, text, "node", GRAVE, (last.key,))

    def _disk(self, last: PagesFetched) -> Caption:
        fetched = _at(self._run.world.history.pages_fetched, last.event)
        pages = sum(entry.pages for entry in fetched if entry.path == last.path)
        text = Text("moment.fetches", node=last.node, pages=pages, file=last.path)
        return Caption(last.event, text, "step", HEAVY)

    def _listener(self, last: ConsumeBegan) -> Caption:
        began = [entry for entry in self._began_at(last.event) if entry.node == last.node]
        keys = tuple(entry.key for entry in began)
        twice = self._said_of_two(began)
        if twice is not None:
            return Caption(last.event, twice, "listener", HEAVY, keys)
        if self._run.world.nodes[last.node].spec.system is System.KAFKA:
            text = Text("moment.kafka.works", node=last.node, keys=keys_text(keys))
        elif last.reconsume_times > 0:
            text = Text("moment.calls_again", node=last.node, keys=keys_text(keys), times=last.reconsume_times)
        else:
            text = Text("moment.calls", node=last.node, keys=keys_text(keys))
        return Caption(last.event, text, "listener", HEAVY, keys)

    def _transaction(self, last: LocalTransactionEnded) -> Caption:
        key = "moment.executed" if last.check == 0 else "moment.answers_check"
        text = Text(key, node=last.node, key=last.key, result=last.result.upper())
        return Caption(last.event, text, "transaction", HEAVY, (last.key,))

    def _transfer(self, last: TransferEnded) -> Caption:
        text = Text(f"moment.transfer.{last.outcome}", node=last.node, key=last.key)
        return Caption(last.event, text, "transaction", HEAVY, (last.key,))

    def _bank(self, last: BankEntry) -> Caption | None:
        key = BANK_ACTIONS.get((last.doing, last.outcome))
        if key is None:
            return None
        return Caption(last.event, Text("moment.told", what=Text(key, entry=last)), "transaction", HEAVY, (last.key,))

    def _work(self, last: WorkDone) -> Caption | None:
        """Return the caption of repeated work: the first time is covered by the verdict."""
        same = (last.node, last.effect, last.key)
        done = self._run.world.history.work_done[-_WORK_BACK:]
        times = sum((one.node, one.effect, one.key) == same for one in done)
        if times < _AGAIN:
            return None
        key = "takes_again" if last.effect == StepKind.TAKE else "called_again"
        text = Text(f"moment.work.{key}", node=last.node, by=last.by, key=last.key, effect=last.effect, times=times)
        return Caption(last.event, text, "listener", GRAVE, (last.key,))

    def _judged(self, last: DeliveryJudged) -> Caption:
        verdict = last.verdict.replace("-", "_")
        what = plain(last.order) if last.key == last.order else Text("moment.judged.of", order=last.order, key=last.key)
        text = Text(f"moment.judged.{verdict}", node=last.node, key=last.key, order=last.order, what=what)
        return Caption(last.event, text, "listener", HEAVY, tuple(dict.fromkeys((last.key, last.order))))

    def _frame(self, least: int) -> Caption | None:
        sent = self._run.world.witness.frames
        for frame in self._words.newest():
            if frame.event < least:
                return None
            words = self._words.of(frame)
            if words is not None:
                is_light = sent.request_name_of(frame) in LIGHT_REQUESTS and not words.keys
                weight = GRAVE if words.kind == "lost" else LIGHT if is_light else PLAIN
                return Caption(frame.event, words.text, words.kind, weight, words.keys)
        return None

    def _listener_end(self, last: ConsumeEnded) -> Caption:
        ended = [entry for entry in _at(self._run.world.history.consumes_ended, last.event) if entry.node == last.node]
        keys = tuple(entry.key for entry in ended)
        is_of_kafka = self._run.world.nodes[last.node].spec.system is System.KAFKA
        well = "kafka.done" if is_of_kafka else "done"
        key = well if last.result in DONE else "throws" if last.result == "throws" else "later"
        text = Text(f"moment.{key}", node=last.node, keys=keys_text(keys))
        return Caption(last.event, text, "listener", PLAIN, keys)

    def _send_end(self, last: SendReturned) -> Caption:
        text = Text(f"moment.send.{last.status}", node=last.node, key=last.key)
        return Caption(last.event, text, "frame", LIGHT if last.status == "ok" else HEAVY, (last.key,))

    def _step(self, least: int) -> Caption | None:
        journal = self._run.world.journal
        start = max(least, journal.dropped + 1, self._run.event_number - _STEPS_BACK + 1)
        for entry in reversed(journal.entries[start - journal.dropped - 1 :]):
            key = MILESTONES.get(entry.label)
            if key is not None:
                return Caption(entry.number, Text("moment.told", what=Text(key, actor=entry.actor)), "step", LIGHT)
        return None

    # ------------------------------------------------------------------------------ listeners

    def _began_at(self, event: int) -> list[ConsumeBegan]:
        return _at(self._run.world.history.consumes_began, event)

    def _said_of_two(self, began: Sequence[ConsumeBegan]) -> Text | None:
        """Return the text if another member of the group has, or has consumed, the message that a listener gets now."""
        world = self._run.world
        for entry in began:
            consumer = world.find(ConsumerNode, entry.node)
            if consumer is not None and consumer.spec.model == "broadcasting":
                continue
            place = _place(entry)
            first = next(
                (
                    one.as_of(entry.event - 1)
                    for one in reversed(world.witness.deliveries.of(entry.key))
                    if one.began.event < entry.event and one.began.node != entry.node and _place(one.began) == place
                ),
                None,
            )
            if first is not None and (first.end is None or first.is_done):
                key = "moment.calls_consumed" if first.is_done else "moment.calls_twice"
                return Text(key, node=entry.node, key=entry.key, other=first.began.node)
        return None


def _place(entry: ConsumeBegan) -> tuple[str, str, str, int, int]:
    return entry.group, entry.topic, entry.broker, entry.queue_id, entry.queue_offset


def _said_of_command(done: CommandApplied) -> Texts:
    command = done.command
    if command.kind == "lock-switch" and command.value.get("lock") in SWITCHES:
        switch = SWITCHES[str(command.value["lock"])]
        if not command.target:
            if command.value.get("on"):
                return Text("moment.locks_on", name=switch.name)
            return Text("moment.locks_off", name=switch.name, what=switch.what)
        if command.value.get("on"):
            return Text("moment.lock_on", name=switch.name)
        return Text("moment.lock_off", name=switch.name, what=switch.what)
    name, what = COMMANDS[command.kind].name, COMMANDS[command.kind].what
    target = " ".join(word for word in (command.target, str(command.value.get("frame", ""))) if word)
    return Text("moment.command", name=name, target=target, what=what) if target else what


def _of_last(entries: Sequence[_Entry], tell: Callable[[_Entry], Caption | None]) -> _Source:
    """Return the source of captions of the last entry."""

    def caption(least: int) -> Caption | None:
        last = _last(entries, least)
        return None if last is None else tell(last)

    return caption


def _last(entries: Sequence[_Entry], least: int) -> _Entry | None:
    """Return the last entry, if it happened at event ``least`` or later."""
    return entries[-1] if entries and entries[-1].event >= least else None


def _at(entries: Sequence[_Entry], event: int) -> list[_Entry]:
    """Return the entries of one event, in order."""
    found: list[_Entry] = []
    for entry in reversed(entries):
        if entry.event < event:
            break
        if entry.event == event:
            found.append(entry)
    found.reverse()
    return found
