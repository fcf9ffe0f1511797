"""What a stream remembers between micro-batches: one folder of Parquet per micro-batch, with all facts merged so far.

Micro-batch n reads the newest folder before n and writes folder n. A crash at any moment therefore repeats n from the
same state, with the same messages (Spark has noted their offsets), and overwrites what there is of folder n. Folders
before n - 1 are deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.transaction_reconciliation.merging import merge_measured
from engine.pipeline.jobs.transaction_reconciliation.packing import PACKED_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

#: Spark writes this file last.
_DONE = "_SUCCESS"


class StreamState:
    """The state below ``folder``, which driver and executors share."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._files = SharedFiles(spark, folder)

    def advance(self, batch_id: int, facts: DataFrame, forget: Callable[[DataFrame], DataFrame]) -> DataFrame:
        """Merge the facts of one micro-batch into the state, store it, and return it.

        :param forget: what of the state before need not be remembered one by one.
        """
        known = [number for number in self._numbers() if number < batch_id]
        if batch_id > 0 and not known:
            raise JobFailed(
                f"checkpoint_folder: {self._files.root} has no state of the micro-batches before {batch_id}, but the "
                "query's own checkpoint is there; use another folder to begin anew",
                f"checkpoint_folder：{self._files.root} 中没有第 {batch_id} 批之前的状态，而查询自己的检查点还在；"
                "要重新开始，请换一个目录",
            )
        if known:
            facts = forget(self._read(known[-1])).unionByName(facts)
        facts = facts.persist()
        try:
            merge_measured(facts).write.mode("overwrite").parquet(self._files.uri(str(batch_id)))
        finally:
            facts.unpersist()
        for number in self._numbers():
            if number < batch_id - 1 and number != max(known, default=-1):
                self._files.delete(str(number))
        return self._read(batch_id)

    def _numbers(self) -> list[int]:
        return sorted(
            int(name) for name in self._files.names("") if name.isdigit() and self._files.exists(f"{name}/{_DONE}")
        )

    def _read(self, number: int) -> DataFrame:
        # With the schema given, Spark need not open the files to learn it.
        return self._spark.read.schema(PACKED_SCHEMA).parquet(self._files.uri(str(number)))
