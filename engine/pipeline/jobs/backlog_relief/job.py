"""The backlog-relief job: checks the backlog from time to time, and moves messages aside or sends them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.pipeline.errors import JobFailed, WrongArgument
from engine.pipeline.jobs.backlog_relief.backlog import Backlog, is_long, look, plan
from engine.pipeline.jobs.backlog_relief.moved_aside import LowPriority
from engine.pipeline.jobs.backlog_relief.moving import Mover
from engine.pipeline.jobs.backlog_relief.relief_folder import NOT_SENT, ReliefFolder, ReliefState
from engine.pipeline.jobs.backlog_relief.sending import ReliefSender, refused_rows
from engine.pipeline.jobs.committed_folder import CommitTaken, CommittedFolder
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.source.cluster.cluster import Cluster, open_cluster
from engine.pipeline.source.cluster.queue_offsets import QueueKey, to_json_object
from engine.pipeline.source.reader.options import is_pushable_tag
from engine.protocol.names import retry_topic
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Duration of one sending when a rate is given; it determines the number of messages.
SENDING_S = 2.0
#: Most messages of one sending without a rate.
SENDING_MAX = 100_000


def backlog_relief(run: JobRun) -> None:
    """Run ``glassmq pipeline backlog-relief``."""
    with open_cluster(run.cluster) as cluster:
        relief = Relief(run, cluster)
        if run.arguments["mode"] == "move":
            relief.move_aside()
        else:
            relief.send_later()


class Relief:
    """One run of the job."""

    def __init__(self, run: JobRun, cluster: Cluster, reached: Callable[[str], None] = lambda _: None) -> None:
        """Create a run.

        :param reached: called at each step with its name; tests crash there.
        """
        self._run = run
        self._cluster = cluster
        arguments: Mapping[str, Any] = run.arguments
        self._arguments = arguments
        self._topics = run.names("topics")
        self._rule = rule = _rule(arguments["low_priority"])
        # Moving and sending may run at the same time; each of them cleans up only after itself.
        writer = hashlib.sha256(f"{arguments['mode']} {arguments['group']}".encode()).hexdigest()[:16]
        files = CommittedFolder(run.spark, arguments["folder"], writer, reached)
        self._folder = ReliefFolder(run.spark, files, arguments["group"], str(rule))
        self._mover = Mover(cluster, self._folder, rule, self._read)
        limits = {"maxMessageBytes": str(arguments["max_message_bytes"])}
        self._sender = ReliefSender(self._folder, {**run.cluster, **limits}, self._writable_queues, reached)

    # --- moving ------------------------------------------------------------------------------------------------------

    def move_aside(self) -> None:
        """Move messages aside while the backlog is long; with ``follow``, whenever it is."""
        self._mover.report(self._folder.latest()[1])
        is_active = False
        while not self._run.stop.is_set():
            backlog, state = self._look()
            is_active = self._switch(backlog.lag, is_active)
            if is_active:
                state = self._move(backlog)
            self._show(self._look()[0], state)
            if self._arguments["follow"]:
                self._run.stop.wait(self._arguments["trigger_ms"] / 1000)
            elif not is_active or not self._plan(backlog, state):
                return

    def _switch(self, lag: int, is_active: bool) -> bool:
        """Start or stop moving, depending on the length of the backlog."""
        above, below = self._arguments["relieve_above"], self._arguments["until_below"]
        becomes = is_long(lag, is_active, above=above, below=below, follows=self._arguments["follow"])
        note = self._run.report.note
        if becomes and not is_active:
            note(Text("job.note.relief_begins", lag=lag))
        elif is_active and not becomes:
            note(Text("job.note.relief_ends", lag=lag))
        elif not becomes and not self._arguments["follow"]:
            note(Text("job.note.nothing_moved", lag=lag, above=above))
        return becomes

    def _move(self, backlog: Backlog) -> ReliefState:
        try:
            state, overtaken = self._mover.move(
                backlog, self._arguments["left_to_group"], self._arguments["max_messages_per_batch"]
            )
        except CommitTaken:
            # A sender commits into the same folder; the next round checks again.
            return self._folder.latest()[1]
        if overtaken:
            self._run.report.note(Text("job.note.overtaken", overtaken=overtaken))
        return state

    def _plan(self, looked: Backlog, state: ReliefState) -> dict[QueueKey, tuple[int, int]]:
        """Return what is left to move of that backlog; newer messages are left to the next round or run."""
        arguments = self._arguments
        return plan(looked, state.ranges, arguments["left_to_group"], arguments["max_messages_per_batch"])

    def _read(self, planned: Mapping[QueueKey, tuple[int, int]]) -> DataFrame:
        # Queues that are not named would be read from their beginning; so all are named, the others with empty ranges.
        others = self._cluster.max_offsets(self._cluster.queues(self._topics))
        first = {**others, **{queue: start for queue, (start, _) in planned.items()}}
        last = {**others, **{queue: end for queue, (_, end) in planned.items()}}
        tags = self._rule.tags
        return self._run.read(
            subscribe=",".join(self._topics),
            startingOffsets=json.dumps(to_json_object(first)),
            endingOffsets=json.dumps(to_json_object(last)),
            # The broker then sends only these; the mover checks again.
            tags=" || ".join(tags) if tags and all(map(is_pushable_tag, tags)) else "*",
        )

    # --- sending -----------------------------------------------------------------------------------------------------

    def send_later(self) -> None:
        """Send what was moved aside; with ``follow``, also what will be moved."""
        topic = self._arguments["send_to"] or retry_topic(self._arguments["group"])
        reported = 0
        while not self._run.stop.is_set():
            backlog, state = self._look()
            if self._may_send(backlog, state):
                state = self._send_all(topic)
            self._show(backlog, state)
            if state.not_sent != reported:
                self._report_not_sent(reported := state.not_sent)
            if not self._arguments["follow"]:
                return
            self._run.stop.wait(self._arguments["trigger_ms"] / 1000)

    def _may_send(self, backlog: Backlog, state: ReliefState) -> bool:
        if not state.batches and state.sending is None:
            if not self._arguments["follow"]:
                self._run.report.note(Text("job.note.nothing_to_send"))
            return False
        limit = self._arguments["until_below"]
        # Finish a sending that has begun: sent to its original topic, it is part of that backlog.
        if state.sending is not None or backlog.lag < max(1, limit):
            return True
        if not self._arguments["follow"]:
            raise JobFailed(Text("job.error.too_far_behind", group=self._folder.group, lag=backlog.lag, limit=limit))
        return False

    def _send_all(self, topic: str) -> ReliefState:
        rate = self._arguments["messages_per_second"]
        messages_max = max(1, int(rate * SENDING_S)) if rate else SENDING_MAX
        while True:
            began = time.monotonic()
            try:
                state, count = self._sender.send(topic, messages_max)
            except CommitTaken:
                continue
            self._show_sent(state)
            if count == 0:
                return self._close_ranges()
            pause_s = count / rate - (time.monotonic() - began) if rate else 0
            if self._run.stop.wait(max(0, pause_s)):
                return state

    def _close_ranges(self) -> ReliefState:
        """Forget ranges that the group has passed: if it is reset on purpose, it must process everything again."""
        backlog, state = self._look()
        base, state = self._folder.latest()
        if state.batches:
            return state
        ranges = {
            queue: replace(moved, start=moved.end, in_range=0) if backlog.progress.get(queue, 0) >= moved.end else moved
            for queue, moved in state.ranges.items()
        }
        if ranges != state.ranges:
            state = replace(state, ranges=ranges)
            try:
                self._folder.commit(base, None, state)
            except CommitTaken:
                return self._folder.latest()[1]
            self._mover.report(state)
        return state

    def _writable_queues(self, topic: str) -> list[str]:
        return [str(queue) for queue in self._cluster.writable_queues(topic)]

    # --- reporting ---------------------------------------------------------------------------------------------------

    def _look(self) -> tuple[Backlog, ReliefState]:
        return look(self._cluster, self._folder.group, self._topics), self._folder.latest()[1]

    def _show(self, backlog: Backlog, state: ReliefState) -> None:
        report, now_ms = self._run.report, time.time() * 1000
        lag, aside = backlog.lag, backlog.moved_before(state.ranges)
        report.point("backlog", "with relief", now_ms, lag - aside)
        report.point("backlog", "without", now_ms, lag)
        rows = [
            [queue.topic, queue.label, backlog.progress.get(queue), moved.start, moved.end, moved.moved, moved.kept]
            for queue, moved in state.ranges.items()
        ]
        rows.sort(key=lambda row: (-int(row[5] or 0), row[:2]))
        report.table("moved", rows)
        reached = {queue: moved.end for queue, moved in state.ranges.items()}
        report.offsets(to_json_object(reached), to_json_object(backlog.ends))
        self._show_sent(state)

    def _show_sent(self, state: ReliefState) -> None:
        waiting = sum(batch.waiting for batch in state.batches.values())
        moved = sum(moved.moved for moved in state.ranges.values())
        report = self._run.report
        if self._arguments["mode"] == "send":
            report.progress(state.sent, moved - state.not_sent, "messages")
        else:
            report.progress(moved, None, "messages")
        report.point("waiting", "messages", time.time() * 1000, waiting)
        report.table(
            "sent",
            [
                [number, batch.rows, batch.sent, batch.not_sent, batch.waiting]
                for number, batch in state.batches.items()
            ],
        )

    def _report_not_sent(self, count: int) -> None:
        rows = refused_rows(self._folder.not_sent(), self._run.report.rows_max)
        self._run.report.table("not_sent", rows, left_out=count - len(rows))
        folder = f"{self._arguments['folder']}/{NOT_SENT}"
        self._run.report.note(Text("job.note.not_sent", count=count, folder=folder))


def _rule(text: str) -> LowPriority:
    try:
        return LowPriority.parse(text)
    except ValueError as error:
        raise WrongArgument(f"low_priority: {error}") from None


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise :class:`WrongArgument` for an invalid rule."""
    _rule(arguments["low_priority"])


JOB, CHECK = backlog_relief, check_arguments
