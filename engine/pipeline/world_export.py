"""Export of the messages in a lab world's brokers, as Parquet files with the columns of ``format("rocketmq")``.

The lab has no sockets through which Spark could pull. So its queues are read at the store, with the result of a pull,
and decoded by the data source's own decoder. Jobs with an ``input_folder`` read the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.run.run import LabRun
from engine.pipeline.errors import JobFailed
from engine.pipeline.source.decoding.schema import arrow_schema
from engine.pipeline.source.decoding.stored_batch import StoredBatch
from engine.texts import Text

#: Messages per read.
_PULL_MAX = 32


def export_messages(run: LabRun, folder: Path) -> int:
    """Write ``BROKER.parquet`` for each broker into ``folder``; return the number of messages, trace and ledgers
    included.

    Raises :class:`~engine.pipeline.errors.JobFailed` if a broker is down, or the folder cannot be written.
    """
    tables = {broker.name: pa.Table.from_batches(_batches_of(broker), arrow_schema()) for broker in run.world.brokers()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet")
    except OSError as error:
        raise JobFailed(Text("job.error.cannot_take_messages", folder=folder, problem=error.strerror)) from None
    return sum(table.num_rows for table in tables.values())


def _batches_of(role: BrokerNode) -> Iterator[Any]:
    """Yield record batches, queue by queue, each in the order of its offsets."""
    if role.broker is None:
        raise JobFailed(Text("job.error.broker_down", broker=role.name))
    store = role.broker.store
    for topic, queue_id, queue in sorted(store.consume_queues(), key=lambda entry: entry[:2]):
        offset = queue.min_offset
        while offset < queue.max_offset:
            result = store.get_message("export", topic, queue_id, offset, _PULL_MAX)
            if result.message_count:
                yield StoredBatch(result.data).record_batch(arrow_schema(), role.name)
            if result.next_begin_offset <= offset:
                break
            offset = result.next_begin_offset
