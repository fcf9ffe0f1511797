"""The checkers of one world, which share one watch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.lab.checkers.kafka.acknowledged_records_are_in_the_log import AcknowledgedRecordsAreInTheLog
from engine.lab.checkers.kafka.committed_records_are_consumed import CommittedRecordsAreConsumed
from engine.lab.checkers.kafka.records_once_and_in_order import RecordsAreInOrder, RecordsAreInTheLogOnce
from engine.lab.checkers.kafka.replicated_records import (
    AcknowledgedRecordsSurviveElections,
    ConsumedRecordsStay,
    ReplicasAgree,
)
from engine.lab.checkers.messages.acknowledged_messages_are_stored import AcknowledgedMessagesAreStored
from engine.lab.checkers.messages.consumed_in_the_end import ConsumedInTheEnd
from engine.lab.checkers.messages.consumed_was_sent import ConsumedWasSent
from engine.lab.checkers.messages.dead_letters_not_redelivered import DeadLettersNotRedelivered
from engine.lab.checkers.messages.log_and_queues_agree import LogAndQueuesAgree
from engine.lab.checkers.messages.retry_count_within_limit import RetryCountWithinLimit
from engine.lab.checkers.messages.subscriptions_agree import SubscriptionsAgree
from engine.lab.checkers.no_code_fails import NoCodeFails
from engine.lab.checkers.queues.committed_offsets_within_queue import CommittedOffsetsWithinQueue
from engine.lab.checkers.queues.no_call_after_takeover import NoCallAfterTakeover
from engine.lab.checkers.queues.offsets_never_pass_unconsumed import OffsetsNeverPassUnconsumed
from engine.lab.checkers.queues.one_consumption_per_queue import OneConsumptionPerQueue
from engine.lab.checkers.queues.one_owner_per_queue import OneOwnerPerQueue
from engine.lab.checkers.queues.order_per_key import OrderPerKey
from engine.lab.checkers.queues.order_per_queue import OrderPerQueue
from engine.lab.checkers.queues.progress_is_stored import ProgressIsStored
from engine.lab.checkers.raft.raft_checkers import (
    AcknowledgedCommandsAreCommitted,
    ElectionSafety,
    LeaderCompleteness,
    LogMatching,
    StateMachineSafety,
)
from engine.lab.checkers.replication.acknowledged_messages_are_copied import AcknowledgedMessagesAreCopied
from engine.lab.checkers.replication.slaves_hold_the_masters_log import SlavesHoldTheMastersLog
from engine.lab.checkers.transactions.half_messages_are_decided import HalfMessagesAreDecided
from engine.lab.checkers.transactions.money_is_conserved import MoneyIsConserved
from engine.lab.checkers.transactions.no_half_message_consumed import NoHalfMessageConsumed
from engine.lab.checkers.transactions.no_money_from_nowhere import NoMoneyFromNowhere
from engine.lab.checkers.transactions.reservations_agree import ReservationsAgree
from engine.lab.checkers.transactions.xa_branches_agree import XaBranchesAgree
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Violation
from engine.lab.checkers.work.acknowledged_work_is_done import AcknowledgedWorkIsDone
from engine.lab.checkers.work.work_done_once import WorkDoneOnce

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: Name -> checker, in the order in which they are shown.
CHECKERS: dict[str, type[Checker]] = {
    checker.name: checker
    for checker in (
        AcknowledgedMessagesAreStored,
        AcknowledgedMessagesAreCopied,
        SlavesHoldTheMastersLog,
        LogAndQueuesAgree,
        ConsumedWasSent,
        OffsetsNeverPassUnconsumed,
        SubscriptionsAgree,
        CommittedOffsetsWithinQueue,
        OneOwnerPerQueue,
        OneConsumptionPerQueue,
        OrderPerQueue,
        NoCallAfterTakeover,
        OrderPerKey,
        RetryCountWithinLimit,
        DeadLettersNotRedelivered,
        NoHalfMessageConsumed,
        HalfMessagesAreDecided,
        NoMoneyFromNowhere,
        MoneyIsConserved,
        XaBranchesAgree,
        ReservationsAgree,
        WorkDoneOnce,
        AcknowledgedWorkIsDone,
        ConsumedInTheEnd,
        ProgressIsStored,
        AcknowledgedRecordsAreInTheLog,
        RecordsAreInTheLogOnce,
        RecordsAreInOrder,
        CommittedRecordsAreConsumed,
        AcknowledgedRecordsSurviveElections,
        ConsumedRecordsStay,
        ReplicasAgree,
        ElectionSafety,
        LogMatching,
        LeaderCompleteness,
        StateMachineSafety,
        AcknowledgedCommandsAreCommitted,
        NoCodeFails,
    )
}


class CheckerSet:
    """The checkers that ``world.scenario`` names (all, if it names none) and that apply to it.

    :ivar watch: what is known about the world.
    :ivar checkers: in the order of :data:`CHECKERS`; each says whether it is ``ok``.
    """

    def __init__(self, world: ScenarioWorld) -> None:
        scenario = world.scenario
        self.watch = ClusterWatch(world)
        #: ``after_event(event number)``: returns the violations found by that event.
        self.after_event = self.watch.after_event
        self.checkers: list[Checker] = [
            checker(self.watch)
            for name, checker in CHECKERS.items()
            if (not scenario.invariants or name in scenario.invariants) and checker.applies(scenario)
        ]

    def at_end(self) -> Sequence[Violation]:
        """Check, at the end of the run, for what is missing."""
        return self.watch.end()
