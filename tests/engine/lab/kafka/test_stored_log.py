"""The files on a Kafka broker's disk are read independently of the broker: once, and the result is never stale."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import encode_batch
from engine.lab.kafka.stored_log import StoredLogs
from engine.runtime.lab.lab_file_content import LabFileContent
from engine.runtime.lab.lab_storage import LabStorage

PATH = "log/Orders-0/00000000000000000000.log"
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3_000)),
        st.tuples(st.just("tear"), st.integers(1, 100)),
        st.tuples(st.just("flush"), st.integers(0, 12_000)),
        st.tuples(st.just("truncate"), st.integers(0, 12_000)),
        st.tuples(st.just("cut_power"), st.just(0)),
    ),
    max_size=12,
)


def append(content: LabFileContent, data: bytes) -> None:
    content.write(content.size_bytes, memoryview(data))
    content.size_bytes += len(data)


def carry_out(content: LabFileContent, action: str, number: int, offset: int) -> None:
    match action:
        case "append":
            append(content, encode_batch([Record(0, 1, b"k", bytes(number))], base_offset=offset))
        case "tear":
            append(content, bytes(number))
        case "flush":
            content.end_flush(content.begin_flush(0, number))
        case "truncate":
            content.truncate(min(number, content.size_bytes))
        case "cut_power":
            content.cut_power(None)


@given(ACTIONS, st.data())
def test_whoever_looks_often_sees_what_one_look_would_see(actions, data):
    storage = LabStorage()
    content = LabFileContent(0, 0)
    storage.add(PATH, content)
    often = StoredLogs(storage)
    for offset, (action, number) in enumerate(actions):
        carry_out(content, action, number, offset)
        if data.draw(st.booleans()):
            assert often.segments() == StoredLogs(storage).segments()
    assert often.segments() == StoredLogs(storage).segments()


def test_what_has_only_grown_keeps_its_batches():
    storage = LabStorage()
    content = LabFileContent(0, 0)
    storage.add(PATH, content)
    logs = StoredLogs(storage)
    for offset in range(20):
        carry_out(content, "append", 1_000, offset)
        (segment,) = logs.segments()
    (before,) = logs.segments()
    carry_out(content, "append", 1_000, 20)
    (after,) = logs.segments()
    kept = [one for one, other in zip(before.batches, after.batches, strict=False) if one is other]
    assert len(kept) >= 16, "all but those of the last page"
    assert before is segment
