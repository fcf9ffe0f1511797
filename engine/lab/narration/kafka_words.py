"""The frames between Kafka's clients and its brokers in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.faults.frame_meaning import Ends, MeaningWords, Texts, keys_text
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import BatchHeader, decode_batch, read_header
from engine.kafka.replication.cluster_image import METADATA, NO_LEADER, ClusterImage
from engine.kafka.wire.api_key import ApiKey
from engine.kafka.wire.cluster import InitProducerIdRequest, InitProducerIdResponse
from engine.kafka.wire.fetch import FetchRequest, FetchResponse
from engine.kafka.wire.fields import KafkaMessage
from engine.kafka.wire.frames import decode_request, decode_response
from engine.kafka.wire.offsets import OffsetCommitRequest, OffsetFetchRequest
from engine.kafka.wire.produce import ProduceRequest, ProduceResponse
from engine.kafka.wire.replication import (
    AlterPartitionRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from engine.lab.kafka.stored_log import key_of
from engine.lab.nodes.history import PartitionDecided
from engine.texts import Text, joined, plain

#: Most partitions of one frame that are mentioned.
_PLACES_TOLD = 3


def kafka_words(frame: bytes, request: bytes, ends: Ends) -> MeaningWords | None:
    """Return the words for a request (then ``frame`` is ``request``) or its response; None for housekeeping."""
    try:
        header, asked = decode_request(request[4:])
        if frame is request:
            return _request_words(asked, ends)
        answer = decode_response(frame[4:], ApiKey(header.api_key))
    except KafkaRefusal:
        return None  # its bytes were changed
    code = next((code for code in _error_codes(answer) if code), 0)
    if code:
        name = ApiKey(header.api_key).name
        return MeaningWords(Text("moment.refused", **ends.said, name=name, code=KafkaErrorCode(code).name))
    return _response_words(asked, answer, ends)


def _request_words(asked: KafkaMessage, ends: Ends) -> MeaningWords | None:
    match asked:
        case ProduceRequest():
            return _sends(asked, ends)
        case FetchRequest() if asked.topics and asked.topics[0].topic == METADATA.topic:
            return None  # brokers ask repeatedly
        case FetchRequest():
            wanted = [
                (topic.topic, one.partition, one.fetch_offset) for topic in asked.topics for one in topic.partitions
            ]
            key = "moment.kafka.fetches" if asked.replica_id < 0 else "moment.kafka.copies"
            return MeaningWords(Text(key, **ends.said, places=_places("offset_from", wanted)))
        case OffsetForLeaderEpochRequest():
            epochs = [
                (topic.topic, one.partition, one.leader_epoch) for topic in asked.topics for one in topic.partitions
            ]
            return MeaningWords(Text("moment.kafka.asks_epoch", **ends.said, places=_places("epoch_of", epochs)))
        case AlterPartitionRequest():
            isrs = [(topic.name, one) for topic in asked.topics for one in topic.partitions]
            reported = [
                Text("moment.kafka.isr_of", partition=f"{topic}-{one.partition_index}", brokers=_brokers(one.new_isr))
                for topic, one in isrs[:_PLACES_TOLD]
            ]
            return MeaningWords(Text("moment.kafka.asks_isr", **ends.said, places=joined("words.list", reported)))
        case OffsetCommitRequest():
            done = [(topic.name, one.index, one.offset) for topic in asked.topics for one in topic.partitions]
            places = _places("offset_of", done)
            return MeaningWords(Text("moment.kafka.commits", **ends.said, group=asked.group_id, places=places))
        case OffsetFetchRequest():
            return MeaningWords(Text("moment.kafka.asks_offsets", **ends.said, group=asked.group_id))
        case InitProducerIdRequest():
            return MeaningWords(Text("moment.kafka.asks_id", **ends.said))
    return None


def _response_words(asked: KafkaMessage, answer: KafkaMessage, ends: Ends) -> MeaningWords | None:
    match answer:
        case ProduceResponse():
            done = [(topic.name, one.index, one.base_offset) for topic in answer.responses for one in topic.partitions]
            assert isinstance(asked, ProduceRequest), "a response is decoded as the answer to its request"
            _, keys = _content(one.records for topic in asked.topics for one in topic.partitions)
            places = _places("offset_from", done)
            return MeaningWords(Text("moment.kafka.appends", **ends.said, keys=keys_text(keys), places=places), keys)
        case FetchResponse() if answer.responses and answer.responses[0].topic == METADATA.topic:
            return _decided(answer.responses[0].partitions[0].records or b"", ends)
        case FetchResponse():
            parts = [(topic.topic, one) for topic in answer.responses for one in topic.partitions if one.records]
            if not parts:
                return MeaningWords(Text("moment.kafka.nothing", **ends.said))
            _, keys = _content(one.records for _, one in parts)
            names = ", ".join(f"{topic}-{one.partition}" for topic, one in parts[:_PLACES_TOLD])
            return MeaningWords(Text("moment.kafka.gives", **ends.said, keys=keys_text(keys), places=names), keys)
        case OffsetForLeaderEpochResponse():
            found = [
                (topic.topic, one.partition, one.end_offset) for topic in answer.topics for one in topic.partitions
            ]
            return MeaningWords(Text("moment.kafka.tells_epoch", **ends.said, places=_places("offset_of", found)))
        case InitProducerIdResponse():
            return MeaningWords(Text("moment.kafka.gives_id", **ends.said, id=answer.producer_id))
    return None


def _decided(data: bytes, ends: Ends) -> MeaningWords | None:
    """Return the words for the controller's last decision; None if it is not about partitions of topics."""
    image, position, last = ClusterImage(), 0, None
    while position < len(data):
        for record in decode_batch(data, position):
            changed = image.replay(record)
            last = changed if changed is not None and not changed.topic.startswith("__") else last
        position += read_header(data, position).size_bytes
    if last is None:
        return None
    key = "moment.kafka.decides" if last.leader != NO_LEADER else "moment.kafka.decides_nobody"
    said = {"partition": str(last.place), "leader": last.leader, "epoch": last.leader_epoch, "isr": _brokers(last.isr)}
    return MeaningWords(Text(key, **ends.said, **said))


def decision_words(decided: Sequence[PartitionDecided]) -> Texts:
    """Return what a controller has decided at one event."""
    return joined("words.sentences", [_decision(one) for one in decided[:_PLACES_TOLD]])


def _decision(one: PartitionDecided) -> Text:
    said = {"node": one.node, "partition": one.partition, "leader": one.leader, "epoch": one.epoch}
    lists = {"moved": ", ".join(one.moved), "isr": ", ".join(one.isr)}
    return Text(f"moment.kafka.decided.{one.what}", **said, **lists)


def _brokers(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _sends(asked: ProduceRequest, ends: Ends) -> MeaningWords:
    batches, keys = _content(one.records for topic in asked.topics for one in topic.partitions)
    names = ", ".join(f"{topic.name}-{one.index}" for topic in asked.topics for one in topic.partitions[:_PLACES_TOLD])
    codecs = {header.attributes & 7: header.codec for header in batches}
    packed = [plain(codec.name.lower()) if number else Text("words.uncompressed") for number, codec in codecs.items()]
    size = sum(header.size_bytes for header in batches)
    said = {"keys": keys_text(keys), "places": names, "size": size, "codec": joined("words.list", packed)}
    return MeaningWords(Text("moment.kafka.sends", **ends.said, **said), keys)


def _content(parts: Iterable[bytes | None]) -> tuple[list[BatchHeader], tuple[str, ...]]:
    """Return the batches of a frame, and the names of their records.

    Raises :class:`KafkaRefusal`.
    """
    headers: list[BatchHeader] = []
    keys: list[str] = []
    for data in parts:
        position = 0
        while data and position < len(data):
            keys += [key for record in decode_batch(data, position) if (key := key_of(record.headers))]
            headers.append(read_header(data, position))
            position += headers[-1].size_bytes
    return headers, tuple(keys)


def _places(key: str, found: list[tuple[str, int, int]]) -> Texts:
    reported: list[Texts] = [
        Text(f"moment.kafka.{key}", partition=f"{topic}-{number}", offset=offset)
        for topic, number, offset in found[:_PLACES_TOLD]
    ]
    if len(found) > _PLACES_TOLD:
        reported.append(Text("moment.kafka.more", n=len(found) - _PLACES_TOLD))
    return joined("words.list", reported)


def _error_codes(part: Any) -> Iterator[int]:
    """Yield all error codes of a response."""
    if isinstance(part, tuple):
        for item in part:
            yield from _error_codes(item)
    elif isinstance(part, KafkaMessage):
        for name in type(part).__dataclass_fields__:
            value = getattr(part, name)
            yield from (value,) if name == "error_code" else _error_codes(value)
