"""Location of numbered messages: a second pass over the messages, for the few numbers worth reporting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import arrow_schema_of
from engine.pipeline.jobs.delivery_audit.summaries import COLUMNS, numbers_of, queue_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: (producer, topic) -> number -> its places: texts such as "broker-a:2 offset 17".
Places = Mapping[tuple[str, str], Mapping[int, list[str]]]

_SCHEMA = "producer string, topic string, number bigint, queue string, queue_offset bigint"
_ARROW = arrow_schema_of(_SCHEMA)


def locate(messages: DataFrame, wanted: Mapping[tuple[str, str], Sequence[int]]) -> Places:
    """Search ``messages`` for the ``wanted`` numbers. Only these are sent to the driver."""
    rows = messages.select(*COLUMNS).mapInArrow(_finder(wanted), _SCHEMA).collect()
    places: dict[tuple[str, str], dict[int, list[str]]] = {}
    for row in sorted(rows, key=lambda row: (row.queue, row.queue_offset)):
        of_producer = places.setdefault((row.producer, row.topic), {})
        of_producer.setdefault(row.number, []).append(f"{row.queue} offset {row.queue_offset}")
    return places


def _finder(wanted: Mapping[tuple[str, str], Sequence[int]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    anybody = np.unique(np.concatenate([np.asarray(numbers, np.int64) for numbers in wanted.values()]))
    exact = {key: frozenset(numbers) for key, numbers in wanted.items()}

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            producers, numbers = numbers_of(batch)
            few = pa.array(np.isin(numbers, anybody))
            places = queue_names(batch), batch.column("queue_offset")
            columns = (producers, batch.column("topic"), pa.array(numbers), *places)
            candidates = zip(*(pc.filter(column, few).to_pylist() for column in columns), strict=True)
            found = [row for row in candidates if row[2] in exact.get((row[0], row[1]), ())]
            if found:
                arrays = map(pa.array, zip(*found, strict=True))
                yield pa.RecordBatch.from_arrays(list(arrays), schema=_ARROW)

    return run
