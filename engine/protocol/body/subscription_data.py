"""A consumer group's subscription to a topic (RocketMQ: ``SubscriptionData``, ``FilterAPI``, ``MessageSelector``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import MalformedBody
from engine.protocol.java_hash import java_string_hash
from engine.protocol.java_trim import java_trim
from engine.protocol.json_form.json_fields import as_object, as_text, get_boolean, get_integer, get_list, get_text

#: The expression that takes every message.
SUBSCRIBE_ALL = "*"
_TAG_SEPARATOR = "||"
#: The maximum number of tags in a subscription. RocketMQ has no bound; a frame has room for millions, which would take
#: seconds to read.
MAX_TAGS = 10_000


@dataclass(frozen=True, slots=True)
class SubscriptionData(JsonBody):
    """One subscription of a group.

    ``tags_set`` and ``code_set`` (the tags' Java hash codes) are empty for "all" and for SQL expressions.
    ``sub_version`` (ms) grows with every change; a broker keeps the newest.
    """

    topic: str
    sub_string: str = SUBSCRIBE_ALL
    tags_set: tuple[str, ...] = ()
    code_set: tuple[int, ...] = ()
    sub_version: int = 0
    expression_type: str = ExpressionType.TAG
    class_filter_mode: bool = False

    def matches_tags_code(self, tags_code: int) -> bool:
        """Return whether a consume-queue entry may match: the broker's quick test, which lets tags with the same hash
        pass.
        """
        return not self.code_set or tags_code in self.code_set

    def matches_tag(self, tag: str | None) -> bool:
        """Return whether a tag matches exactly: the client's test."""
        return not self.tags_set or tag in self.tags_set

    @classmethod
    def from_dict(cls, value: object) -> SubscriptionData:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`.

        Tags and codes are computed again from the expression: C++ clients send wrong hash codes (``[0, 0]``).
        """
        fields = as_object(value)
        return build_subscription_data(
            get_text(fields, "topic"),
            get_text(fields, "subString", SUBSCRIBE_ALL),
            expression_type=get_text(fields, "expressionType", ExpressionType.TAG),
            sub_version=get_integer(fields, "subVersion", 0),
            class_filter_mode=get_boolean(fields, "classFilterMode"),
            listed_tags=get_list(fields, "tagsSet", as_text, at_most=MAX_TAGS),
        )


def build_subscription_data(
    topic: str,
    expression: str | None,
    *,
    expression_type: str | None = ExpressionType.TAG,
    sub_version: int = 0,
    class_filter_mode: bool = False,
    listed_tags: tuple[str, ...] = (),
) -> SubscriptionData:
    """Return the subscription of ``expression``: ``"*"``, null or "" for all, ``"TagA || TagB"``, or an SQL92
    condition.

    Raises :class:`MalformedBody` for an expression without a tag or with more than :data:`MAX_TAGS`.
    """
    kind = expression_type or ExpressionType.TAG
    text = java_trim(expression or "") or SUBSCRIBE_ALL
    tags: dict[str, None] = {}
    if kind == ExpressionType.TAG and text != SUBSCRIBE_ALL:
        if text.count(_TAG_SEPARATOR) >= MAX_TAGS:
            raise MalformedBody(f"a subscription to {topic} names more than {MAX_TAGS} tags")
        tags = {tag: None for tag in map(java_trim, text.split(_TAG_SEPARATOR)) if tag}
        if not tags:
            raise MalformedBody(f"subscription {expression!r} to {topic} names no tag; allowed: * or TagA || TagB")
        tags.update((tag, None) for tag in listed_tags)
    return SubscriptionData(
        topic=topic,
        sub_string=text,
        tags_set=tuple(tags),
        code_set=tuple({java_string_hash(tag): None for tag in tags}),
        sub_version=sub_version,
        expression_type=kind,
        class_filter_mode=class_filter_mode,
    )
