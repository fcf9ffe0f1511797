"""What makes two messages the same one, as a column.

The broker delivers at least once and producers send again what they are not sure of, so a log holds copies. Which
messages are copies only the sender's business can say: by its keys, by the client's unique id (a resend by the client
itself keeps it), or by a property. A message without any of them is itself, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import WrongArgument
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import Column

BY_PROPERTY = "property:"


def check_key_rule(rule: str) -> None:
    """Raises :class:`~engine.pipeline.errors.WrongArgument` for a rule that there is not."""
    names_property = rule.startswith(BY_PROPERTY) and rule != BY_PROPERTY
    if rule not in ("keys", "unique_id") and not names_property:
        raise WrongArgument(
            Text("job.error.no_key", rule=rule),
        )


def business_key(rule: str) -> Column:
    """A text that copies of one message share: the rule's name and value, else the unique id, else the place."""
    if rule == "keys":
        value, label = F.concat_ws(" ", "keys"), "keys:"
    elif rule == "unique_id":
        value, label = F.lit(""), ""
    else:
        value, label = F.element_at("properties", F.lit(rule.removeprefix(BY_PROPERTY))), f"{rule}:"
    return F.coalesce(
        F.when(value != "", F.concat(F.lit(label), value)),
        F.when(F.col("unique_id") != "", F.concat(F.lit("unique_id:"), F.col("unique_id"))),
        # The store time too: a topic that is deleted and made again counts from 0 again.
        F.concat_ws(
            ":",
            F.lit("place"),
            "broker_name",
            F.col("queue_id").cast("string"),
            F.col("queue_offset").cast("string"),
            F.unix_millis("store_timestamp").cast("string"),
        ),
    )
