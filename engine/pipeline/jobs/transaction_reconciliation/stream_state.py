"""State of a stream between micro-batches: one folder of Parquet per micro-batch, with all facts merged so far.

Micro-batch n reads the newest folder before n and writes folder n. A crash at any moment therefore repeats n from the
same state, with the same messages (Spark has noted their offsets), and overwrites what there is of folder n. Folders
before n - 1 are deleted.

Next to the folders is a text, ``memory/n.json``: what the driver itself must remember. It is written at the end of
micro-batch n, before Spark records that n is done; until then n is repeated with the previous text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.transaction_reconciliation.facts import FACT_COLUMNS, merge
from engine.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

#: Spark writes this file last.
_DONE = "_SUCCESS"


class StreamState:
    """The state in ``folder``, which driver and executors share."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._files = SharedFiles(spark, folder)

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
        facts = facts.persist()
        try:
            merge(facts).write.mode("overwrite").parquet(self._files.uri(str(batch_id)))
        finally:
            facts.unpersist()
        for number in known[:-1]:
            if number < batch_id - 1:
                self._files.delete(str(number))
                self._files.delete(_memory_name(number))
        return self._read(batch_id)

    def is_first(self, batch_id: int) -> bool:
        """Return whether this is the first micro-batch: there is no state of an earlier one."""
        return not any(number < batch_id for number in self._numbers())

    def memory(self, batch_id: int) -> str | None:
        """Return the text given to :meth:`keep_memory` at the end of the previous micro-batch, or None."""
        known = [number for number in self._numbers() if number < batch_id]
        if not known or not self._files.exists(name := _memory_name(known[-1])):
            return None
        return self._files.read(name)

    def keep_memory(self, batch_id: int, text: str | None) -> None:
        """Store the memory as the last step of a micro-batch; None: there is nothing to store."""
        name = _memory_name(batch_id)
        # Left by a run that died right after.
        self._files.delete(name)
        if text is not None:
            self._files.write_new(name, text)

    def _numbers(self) -> list[int]:
        return sorted(
            int(name) for name in self._files.names("") if name.isdigit() and self._files.exists(f"{name}/{_DONE}")
        )

    def _read(self, number: int) -> DataFrame:
        return self._spark.read.parquet(self._files.uri(str(number)))


def _memory_name(number: int) -> str:
    return f"memory/{number}.json"
