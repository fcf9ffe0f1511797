"""Location of numbered messages: a second pass over the messages, for the few numbers worth reporting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Most places reported per finding; a number may be in a queue any number of times.
PLACES_MAX = 8
_OF_NUMBER = "OVER (PARTITION BY producer, topic, number"
_PLACES = (
    "producer",
    "topic",
    "number",
    "queue",
    "queue_offset",
    f"row_number() {_OF_NUMBER} ORDER BY queue, queue_offset) AS place",
    f"count(*) {_OF_NUMBER}) AS total",
)


class NumberPlaces(NamedTuple):
    """The places of one number: how many were found, and the first of them, such as "broker-a:2 offset 17".

    :ivar are_all: False: not everything that can hold the number was read.
    """

    total: int = 0
    first: Sequence[Text] = ()
    are_all: bool = True


#: (producer, topic) -> number -> its places.
Places = Mapping[tuple[str, str], Mapping[int, NumberPlaces]]


def locate(messages: DataFrame, wanted: Mapping[tuple[str, str], Sequence[int]]) -> Places:
    """Search ``messages`` for the ``wanted`` numbers. Only the first places of each are sent to the driver."""
    numbers = [(*key, number) for key, of_producer in wanted.items() for number in of_producer]
    table = messages.sparkSession.createDataFrame(numbers, "producer string, topic string, number bigint")
    found = messages.join(F.broadcast(table), ["producer", "topic", "number"]).selectExpr(*_PLACES)
    rows = found.where(f"place <= {PLACES_MAX}").orderBy("place").collect()
    places: dict[tuple[str, str], dict[int, NumberPlaces]] = {}
    for producer, topic, number, queue, offset, _, total in rows:
        place = Text("job.where.place", queue=queue, offset=offset)
        of_producer = places.setdefault((producer, topic), {})
        of_producer[number] = NumberPlaces(total, (*of_producer.get(number, NumberPlaces()).first, place))
    return places
