"""The archive job: a stream from topics into a committed folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.pipeline.jobs.archive.archiver import Archiver, query_id_of
from engine.pipeline.jobs.archive.compaction import Compaction
from engine.pipeline.jobs.archive.deduplication import check_key_rule
from engine.pipeline.jobs.archive.state import ArchiveState
from engine.pipeline.jobs.arguments import listed_names
from engine.pipeline.jobs.committed_folder import CommittedFolder
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.source.reader.options import check_starting_offsets
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engine.pipeline.jobs.report import JobReport

#: In the archive's folder, unless another one is given.
CHECKPOINT_FOLDER = "_checkpoint"


def archive(run: JobRun) -> None:
    """Run ``glassmq pipeline archive``."""
    arguments = run.arguments
    check_arguments(arguments)
    files = SharedFiles(run.spark, arguments["folder"])
    checkpoint = SharedFiles(run.spark, arguments["checkpoint_folder"] or files.uri(CHECKPOINT_FOLDER))
    messages = run.read_stream(
        subscribe=arguments["topics"],
        startingOffsets=arguments["starting_offsets"],
        maxOffsetsPerTrigger=str(arguments["max_messages_per_batch"]),
    )
    # A job with this checkpoint is the same writer after a restart.
    writer_name = hashlib.sha256(checkpoint.root.encode()).hexdigest()[:16]
    folder = CommittedFolder(run.spark, arguments["folder"], writer_name)
    progress = _Progress(run.report, ArchiveState.from_json(folder.latest().state))
    archiver = Archiver(
        folder,
        lambda: query_id_of(checkpoint.read("metadata")),
        progress.archived,
        arguments["key"],
        arguments["dedup_window_ms"],
        arguments["max_messages_per_file"],
    )
    compaction = Compaction(run.spark, folder, arguments["compact_files"], arguments["max_messages_per_file"])
    compaction.finish()

    def add_batch(batch: DataFrame, batch_id: int) -> None:
        compaction.merge()
        archiver.add_batch(batch, batch_id)

    run.follow(messages, add_batch, checkpoint.root)
    while not run.stop.is_set() and (state := compaction.merge()) is not None:
        run.report.table("archive", state.table())
    if not progress.batches:
        run.report.note(Text("job.note.nothing_new"))


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise the refusal of an invalid key rule or of invalid offsets."""
    check_key_rule(arguments["key"])
    check_starting_offsets(arguments["starting_offsets"], listed_names(arguments["topics"]))


class _Progress:
    """Report each batch."""

    def __init__(self, report: JobReport, state: ArchiveState) -> None:
        self._report = report
        self.batches = 0
        self._last = (time.time(), state.total("messages"))
        if state.days:
            report.table("archive", state.table())

    def archived(self, state: ArchiveState) -> None:
        self.batches += 1
        now = time.time()
        messages, copies, changed = (state.total(name) for name in ("messages", "copies", "changed"))
        self._report.progress(messages, None, "messages")
        self._report.table("archive", state.table())
        self._report.point("copies", "copies", now * 1000, copies)
        self._report.point("copies", "changed", now * 1000, changed)
        if now > self._last[0]:
            rate = (messages - self._last[1]) / (now - self._last[0])
            self._report.point("rate", "messages", now * 1000, round(rate, 1))
        self._last = (now, messages)


JOB, CHECK = archive, check_arguments
