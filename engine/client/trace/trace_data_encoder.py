r"""The encoding of trace records in the body of a trace message (RocketMQ: ``TraceDataEncoder``).

Fields end with ``\x01``, a record with ``\x02``; everything is text::

    Pub            type time region group topic msgId tags keys storeHost bodyLength cost msgType offsetMsgId success
    SubBefore      type time region group requestId msgId retryTimes keys
    SubAfter       type requestId msgId cost success keys contextCode time group
    EndTransaction type time region group topic msgId tags keys storeHost msgType transactionId state fromCheck

Times and costs are in milliseconds, ``msgType`` and ``contextCode`` are ordinals, booleans ``true`` and ``false``, and
missing values are ``null``. A delivery of several messages is one record per message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from engine.client.trace.trace_context import SWALLOWED_CODE, MessageType, TraceBean, TraceContext, TraceType
from engine.protocol.errors import MalformedBody
from engine.protocol.message.message_properties import KEY_SEPARATOR

CONTENT_SEPARATOR = "\x01"
FIELD_SEPARATOR = "\x02"


def encode_trace_context(context: TraceContext) -> str:
    """Encode the records of ``context``."""
    return "".join(_record(context, bean) for bean in _beans_written(context))


def trace_keys(context: TraceContext) -> list[str]:
    """Return the keys of the trace message: ids and keys of the messages."""
    words: dict[str, None] = {}
    for bean in context.beans:
        words[bean.message_id] = None
        words.update(dict.fromkeys(word for word in (bean.keys or "").split(KEY_SEPARATOR) if word))
    return list(words)


def _beans_written(context: TraceContext) -> Sequence[TraceBean]:
    is_delivery = context.trace_type in (TraceType.SUB_BEFORE, TraceType.SUB_AFTER)
    return context.beans if is_delivery else context.beans[:1]


def _record(context: TraceContext, bean: TraceBean) -> str:
    fields: tuple[object, ...]
    about = (context.timestamp_ms, context.region_id, context.group_name)
    message = (bean.topic, bean.message_id, bean.tags, bean.keys, bean.store_host)
    match context.trace_type:
        case TraceType.PUB:
            sent = (bean.body_length, context.cost_ms, bean.message_type.value, bean.offset_message_id)
            fields = (*about, *message, *sent, context.success)
        case TraceType.SUB_BEFORE:
            fields = (*about, context.request_id, bean.message_id, bean.retry_times, bean.keys)
        case TraceType.SUB_AFTER:
            code = SWALLOWED_CODE if context.success and bean.is_swallowed else context.context_code
            ended = (context.cost_ms, context.success, bean.keys, code)
            fields = (context.request_id, bean.message_id, *ended, context.timestamp_ms, context.group_name)
        case TraceType.END_TRANSACTION:
            decided = (bean.transaction_id, bean.transaction_state, bean.from_transaction_check)
            fields = (*about, *message, bean.message_type.value, *decided)
    return CONTENT_SEPARATOR.join(_text(value) for value in (context.trace_type.value, *fields)) + FIELD_SEPARATOR


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    # A separator in a key would break the record; RocketMQ writes it nevertheless, and cannot read it then.
    return str(value).replace(CONTENT_SEPARATOR, " ").replace(FIELD_SEPARATOR, " ")


def decode_trace_data(text: str) -> list[TraceContext]:
    """Decode the records in the body of a trace message. Raises :class:`MalformedBody` naming the record.

    Records of unknown kinds are skipped; older clients wrote some fields fewer, later ones one more.
    """
    return list(_decoded(text))


def _decoded(text: str) -> Iterator[TraceContext]:
    for number, record in enumerate(part for part in text.split(FIELD_SEPARATOR) if part):
        kind, *fields = record.split(CONTENT_SEPARATOR)
        reader = _READERS.get(kind)
        if reader is None:
            continue
        try:
            yield reader(fields)
        except (IndexError, ValueError) as error:
            raise MalformedBody(f"trace record {number} ({kind[:20]}, {len(fields)} fields): {error}") from error


def _maybe(text: str) -> str | None:
    return None if text == "null" else text


def _is_true(text: str) -> bool:
    return text.lower() == "true"


def _read_pub(fields: list[str]) -> TraceContext:
    has_offset_id = len(fields) >= 13
    bean = TraceBean(
        message_id=fields[4],
        topic=fields[3],
        tags=_maybe(fields[5]),
        keys=_maybe(fields[6]),
        store_host=fields[7],
        body_length=int(fields[8]),
        message_type=MessageType(int(fields[10])),
        offset_message_id=fields[11] if has_offset_id else "",
    )
    return TraceContext(
        TraceType.PUB,
        int(fields[0]),
        fields[2],
        (bean,),
        region_id=_maybe(fields[1]),
        cost_ms=int(fields[9]),
        success=_is_true(fields[12 if has_offset_id else 11]),
    )


def _read_sub_before(fields: list[str]) -> TraceContext:
    bean = TraceBean(message_id=fields[4], retry_times=int(fields[5]), keys=_maybe(fields[6]))
    return TraceContext(
        TraceType.SUB_BEFORE,
        int(fields[0]),
        fields[2],
        (bean,),
        region_id=_maybe(fields[1]),
        request_id=fields[3],
    )


def _read_sub_after(fields: list[str]) -> TraceContext:
    says_when = len(fields) >= 8
    return TraceContext(
        TraceType.SUB_AFTER,
        int(fields[6]) if says_when else 0,
        fields[7] if says_when else "",
        (TraceBean(message_id=fields[1], keys=_maybe(fields[4])),),
        cost_ms=int(fields[2]),
        success=_is_true(fields[3]),
        request_id=fields[0],
        context_code=int(fields[5]) if len(fields) >= 6 else 0,
    )


def _read_end_transaction(fields: list[str]) -> TraceContext:
    bean = TraceBean(
        message_id=fields[4],
        topic=fields[3],
        tags=_maybe(fields[5]),
        keys=_maybe(fields[6]),
        store_host=fields[7],
        message_type=MessageType(int(fields[8])),
        transaction_id=_maybe(fields[9]),
        transaction_state=fields[10],
        from_transaction_check=_is_true(fields[11]),
    )
    return TraceContext(TraceType.END_TRANSACTION, int(fields[0]), fields[2], (bean,), region_id=_maybe(fields[1]))


_READERS: Mapping[str, Callable[[list[str]], TraceContext]] = {
    TraceType.PUB: _read_pub,
    TraceType.SUB_BEFORE: _read_sub_before,
    TraceType.SUB_AFTER: _read_sub_after,
    TraceType.END_TRANSACTION: _read_end_transaction,
}
