"""Location of numbered messages: a second pass over the messages, for the few numbers worth reporting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: (producer, topic) -> number -> its places, such as "broker-a:2 offset 17".
Places = Mapping[tuple[str, str], Mapping[int, list[Text]]]


def locate(messages: DataFrame, wanted: Mapping[tuple[str, str], Sequence[int]]) -> Places:
    """Search ``messages`` for the ``wanted`` numbers. Only these are sent to the driver."""
    numbers = [(*key, number) for key, of_producer in wanted.items() for number in of_producer]
    table = messages.sparkSession.createDataFrame(numbers, "producer string, topic string, number bigint")
    found = messages.join(F.broadcast(table), ["producer", "topic", "number"])
    places: dict[tuple[str, str], dict[int, list[Text]]] = {}
    rows = found.select("queue", "queue_offset", "producer", "topic", "number").collect()
    for queue, offset, producer, topic, number in sorted(rows):
        place = Text("job.where.place", queue=queue, offset=offset)
        places.setdefault((producer, topic), {}).setdefault(number, []).append(place)
    return places
