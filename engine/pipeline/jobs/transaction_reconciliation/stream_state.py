"""State of a stream between micro-batches: one folder of Parquet per micro-batch, with all facts merged so far.

Micro-batch n reads the newest folder before n and writes folder n. A crash at any moment therefore repeats n from the
same state, with the same messages (Spark has noted their offsets), and overwrites what there is of folder n. Folders
before n - 1 are deleted.

Next to the folders is ``memory/n.json``: the ledgers are read again each time, and this says how far they and the facts
correspond. It is written at the end of micro-batch n, before Spark records that n is done; until then n is repeated
with the previous memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec
from pyspark.sql import DataFrame, SparkSession

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import persisted
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.transaction_reconciliation.facts import FACT_COLUMNS, merge
from engine.texts import Text

#: Spark writes this file last.
_DONE = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class LedgerMemory:
    """The state about the ledgers that a stream keeps.

    :ivar unknown: time span in ms of debits whose messages may not have been read, or may be forgotten.
    :ivar without_transfer: keys of committed messages without a debit; bounded by the caller.
    """

    unknown: tuple[int, int] | None = None
    without_transfer: tuple[str, ...] = ()

    def with_unknown(self, span: tuple[int, int] | None) -> LedgerMemory:
        """Return a memory in which debits of this time span are unknown, too, and all in between, as one span holds
        them.
        """
        if span is None or self.unknown is None:
            return replace(self, unknown=span or self.unknown)
        return replace(self, unknown=(min(span[0], self.unknown[0]), max(span[1], self.unknown[1])))


class StreamState:
    """The state in ``folder``, which driver and executors share."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._files = SharedFiles(spark, folder)
        self._memories = SharedFiles(spark, f"{folder}/memory")

    def advance(self, batch_id: int, facts: DataFrame, forget: Callable[[DataFrame], DataFrame]) -> DataFrame:
        """Merge the facts of one micro-batch into the state, store it, and return it.

        :param forget: reduces the previous state: what need not be remembered individually.
        """
        known = [number for number in self._numbers() if number < batch_id]
        if batch_id > 0 and not known:
            raise JobFailed(Text("job.error.no_state", folder=self._files.root, batch_id=batch_id))
        if known:
            before = self._read(known[-1])
            if before.columns != list(FACT_COLUMNS):
                raise JobFailed(Text("job.error.other_version", folder=self._files.root))
            facts = forget(before).unionByName(facts)
        with persisted(facts) as kept:
            merge(kept).write.mode("overwrite").parquet(self._files.uri(str(batch_id)))
        for number in known[:-1]:
            if number < batch_id - 1:
                self._files.delete(str(number))
        return self._read(batch_id)

    def is_first(self, batch_id: int) -> bool:
        """Return whether this is the first micro-batch: there is no state of an earlier one."""
        return not any(number < batch_id for number in self._numbers())

    def memory(self, batch_id: int) -> LedgerMemory | None:
        """Return what was given to :meth:`keep_memory` at the end of the previous micro-batch, or None."""
        text = self._memories.state_before(batch_id)
        return None if text is None else msgspec.json.decode(text, type=LedgerMemory)

    def keep_memory(self, batch_id: int, memory: LedgerMemory | None) -> None:
        """Store the memory as the last step of a micro-batch; None: there is nothing to store."""
        self._memories.keep_state(batch_id, None if memory is None else msgspec.json.encode(memory).decode())

    def _numbers(self) -> list[int]:
        return sorted(
            int(name) for name in self._files.names("") if name.isdigit() and self._files.exists(f"{name}/{_DONE}")
        )

    def _read(self, number: int) -> DataFrame:
        return self._spark.read.parquet(self._files.uri(str(number)))
