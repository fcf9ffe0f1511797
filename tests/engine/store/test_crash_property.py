"""Whatever happens in whatever order: nothing flushed is lost, nothing half-written is seen."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.protocol.message.message_codec import decode_stored_message
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.files.store_config import FlushDiskType
from tests.engine.store.store_world import StoreWorld, small_config

QUEUES = 3

PUT = st.tuples(st.just("put"), st.integers(0, QUEUES - 1), st.integers(0, 1_500))
BATCH = st.tuples(st.just("batch"), st.integers(0, QUEUES - 1), st.integers(1, 12))
FLUSH = st.tuples(st.just("flush"))
WAIT = st.tuples(st.just("wait"), st.sampled_from([1, 600, 3_000, 11_000]))
END = st.tuples(st.just("end"), st.sampled_from(["shutdown", "kill", "cut power", "cut power, torn"]))
OPERATIONS = st.lists(st.one_of(PUT, PUT, BATCH, FLUSH, WAIT, END), max_size=40)

#: (queue id, logical offset) -> (body, commit-log offset)
Model = dict[tuple[int, int], tuple[bytes, int]]


class Checker:
    """Drives a store and knows what must be in it."""

    def __init__(self, seed: int, flush_disk_type: FlushDiskType) -> None:
        config = small_config(
            mapped_file_size_commit_log=8 * 1024,
            mapped_file_size_consume_queue_entries=10,
            max_index_num=40,
            max_hash_slot_num=7,
            max_mapped_files=3,
            flush_disk_type=flush_disk_type,
        )
        self.world = StoreWorld(config, seed=seed)
        self.world.start()
        self.put: Model = {}
        self.flushed: Model = {}
        self.number = 0

    def new_body(self, size: int) -> bytes:
        self.number += 1
        return (b"%d." % self.number).ljust(size, b"x")

    def do(self, operation: tuple) -> None:
        match operation:
            case ("put", queue_id, size):
                body = self.new_body(size)
                result = self.world.put(body, queue_id=queue_id, keys=body.split(b".")[0].decode())
                assert result.is_ok
                self.put[queue_id, result.queue_offset] = (body, result.offset)
            case ("batch", queue_id, count):
                bodies = [self.new_body(10) for _ in range(count)]
                result = self.world.put_batch(bodies, queue_id=queue_id)
                assert result.is_ok
                for index, (body, offset) in enumerate(zip(bodies, result.offsets, strict=True)):
                    self.put[queue_id, result.queue_offset + index] = (body, offset)
            case ("flush",):
                assert self.world.flush()
                self.flushed = dict(self.put)
            case ("wait", duration_ms):
                self.world.world.run_for(duration_ms)
            case ("end", how):
                self.end(how)

    def end(self, how: str) -> None:
        if how == "shutdown":
            self.world.shutdown()
            self.flushed = dict(self.put)
        elif how == "kill":
            self.world.kill()
        else:
            self.world.cut_power(torn=how.endswith("torn"))
        report = self.world.start_again()
        assert report.was_clean is (how == "shutdown")
        served = self.check()
        if how in ("shutdown", "kill"):
            assert served == self.put
        assert self.flushed.items() <= served.items()
        assert served.items() <= self.put.items()
        # What came back is durable now: recovery flushes it.
        self.put = served
        self.flushed = dict(served)

    def check(self) -> Model:
        """Everything served, after checking that log, queues and index tell the same story."""
        store = self.world.store
        served: Model = {}
        for queue_id in range(QUEUES):
            entries = store.consume_queue_entries("T", queue_id, 0, 100_000)
            # A first file that held nothing but lost entries may be missing.
            first = store.max_offset("T", queue_id) - len(entries)
            assert 0 <= first <= store.min_offset("T", queue_id)
            for queue_offset, (offset, size, _) in enumerate(entries, first):
                if size == FILLER_SIZE:
                    continue
                record = store.commit_log.record_at(offset)
                assert record is not None, "an entry points to no message"
                assert len(record) == size
                message = decode_stored_message(record)
                assert (message.queue_id, message.queue_offset) == (queue_id, queue_offset)
                served[queue_id, queue_offset] = (message.body, offset)
            by_get = {message.queue_offset: message.body for message in self.world.messages(queue_id=queue_id)}
            assert by_get == {offset: body for (queue, offset), (body, _) in served.items() if queue == queue_id}
        for body, offset in served.values():
            if body.endswith(b"x") or body == body.split(b".")[0] + b".":
                key = body.split(b".")[0].decode()
                found = store.query_message("T", key, 32, 0, 1 << 62).buffers
                keys_in_log = decode_stored_message(store.commit_log.record_at(offset) or b"").keys
                assert len(found) == (1 if keys_in_log else 0)
        return served


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS, st.integers(0, 1_000), st.sampled_from(list(FlushDiskType)))
def test_nothing_flushed_is_lost_and_nothing_half_written_is_seen(operations, seed, flush_disk_type):
    checker = Checker(seed, flush_disk_type)
    try:
        for operation in operations:
            checker.do(operation)
        assert checker.check() == checker.put
        checker.end("cut power, torn")
    finally:
        checker.world.world.close()
