"""The audit as a job on Spark: a million messages with known faults, traces, a stream that dies and goes on."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from engine.client.trace.trace_context import MessageType, TraceBean, TraceContext, TraceType
from engine.client.trace.trace_data_encoder import encode_trace_context
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.arguments import read_arguments
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.delivery_audit.following import Follower, FollowRules
from engine.pipeline.jobs.delivery_audit.job import JOB
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.trace_events import trace_events
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.report import ALL_ROWS, ROWS_MAX
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.numbering_ledger import LEDGER_BYTES_MAX, NUMBERING_LEDGER_TOPIC, NumberingLedger
from engine.protocol.names import TRACE_TOPIC
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import EPOCH_MS, Stored, message_table, numbered_table
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.waiting import wait_until


def audit(spark, rows_max: int = ROWS_MAX, **arguments) -> MemoryReport:
    report = MemoryReport(rows_max)
    checked = read_arguments(DESCRIPTION, arguments)
    JOB(JobRun(spark, checked, {}, report, watch=lambda _query: None))
    return report


def rows(report: MemoryReport, table: str) -> list[dict]:
    return report.rows(DESCRIPTION, table)


def notes(report: MemoryReport) -> str:
    return "\n".join(report.english_notes)


def write(folder, *tables: pa.Table) -> str:
    folder.mkdir()
    for number, table in enumerate(tables):
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
    return str(folder)


# --- a million messages -----------------------------------------------------------------------------------------------


def numbers_in_turn(producers: np.ndarray) -> np.ndarray:
    """For each message the number that its producer gives it."""
    numbers = np.zeros(len(producers), np.int64)
    for producer in range(int(producers.max()) + 1):
        of_producer = producers == producer
        numbers[of_producer] = np.arange(of_producer.sum())
    return numbers


def with_faults(count: int, seed: int):
    """Messages in the order in which they are stored, as columns, and what is wrong with them."""
    rng = np.random.default_rng(seed)
    producers, queues = rng.integers(0, 10, count), rng.integers(0, 4, count)
    numbers, at = numbers_in_turn(producers), np.arange(count, dtype=np.float64)
    # Lost: single messages and stretches, but none of a producer's last.
    lost = np.zeros(count, bool)
    lost[rng.choice(count - 1_000, 500, replace=False)] = True
    stretch = np.flatnonzero(producers == 3)[40_000 * count // 1_000_000 :][:300]
    lost[stretch] = True
    lost_of = [(int(producers[i]), int(numbers[i])) for i in np.flatnonzero(lost)]
    kept = np.flatnonzero(~lost)
    # Duplicated: a second copy somewhat later, in any queue.
    copied = rng.choice(kept, 300, replace=False)
    rows_of = np.concatenate((kept, copied))
    position = np.concatenate((at[kept], at[copied] + rng.uniform(1, 1_000, len(copied))))
    queue = np.concatenate((queues[kept], rng.integers(0, 4, len(copied))))
    order = np.argsort(position, kind="stable")
    rows_of, queue = rows_of[order], queue[order]
    # Out of order: a message changes places with the next one of its producer in its queue.
    by_queue = np.lexsort((np.arange(len(rows_of)), queue, producers[rows_of]))
    is_copied = np.isin(rows_of, copied)
    pairs = rng.choice(len(by_queue) // 2 - 1, 500, replace=False) * 2
    swapped = []
    for first, second in zip(by_queue[pairs], by_queue[pairs + 1], strict=True):
        same = producers[rows_of[first]] == producers[rows_of[second]] and queue[first] == queue[second]
        if same and not is_copied[first] and not is_copied[second]:
            swapped.append((int(producers[rows_of[first]]), int(numbers[rows_of[first]])))
            rows_of[first], rows_of[second] = rows_of[second], rows_of[first]
    latency_ms = rng.integers(0, 50, len(rows_of))
    late = rng.choice(len(rows_of), 200, replace=False)
    latency_ms[late] = rng.integers(1_001, 90_000, 200)
    offsets = np.zeros(len(rows_of), np.int64)
    for number in range(4):
        offsets[queue == number] = np.arange((queue == number).sum())
    stored_ms = EPOCH_MS + np.arange(len(rows_of)) // 10
    table = numbered_table(producers[rows_of], numbers[rows_of], queue, offsets, stored_ms, latency_ms)
    duplicated = [(int(producers[i]), int(numbers[i])) for i in copied]
    return table, {"lost": lost_of, "duplicated": duplicated, "out of order": swapped}, latency_ms


def test_of_a_million_messages_exactly_the_injected_faults_are_found(spark, tmp_path):
    table, injected, latency_ms = with_faults(1_000_000, seed=7)
    halves = table.num_rows // 2
    # The newer half first: a folder's files come in no order.
    folder = write(tmp_path / "messages", table.slice(halves), table.slice(0, halves))
    report = audit(spark, ALL_ROWS, input_folder=folder, late_ms=1_000)
    found = {kind: [] for kind in injected}
    for finding in rows(report, "findings"):
        producer = int(finding["who"].partition("@")[2], 16)
        found[finding["kind"]] += [(producer, number) for number in range(finding["first"], finding["last"] + 1)]
        assert "offset" in finding["where"]
    assert {kind: sorted(numbers) for kind, numbers in found.items()} == {
        kind: sorted(numbers) for kind, numbers in injected.items()
    }
    producers = rows(report, "producers")
    assert sum(row["stored"] for row in producers) == table.num_rows
    assert sum(row["late"] for row in producers) == 200
    assert sum(row["findings"] for row in producers) == sum(map(len, injected.values()))
    (latency,) = rows(report, "latency")
    p50, p99 = np.percentile(latency_ms, [50, 99], method="inverted_cdf")
    assert (latency["p50"], latency["p99"], latency["messages"]) == (p50, p99, table.num_rows)
    assert latency["longest"] == latency_ms.max()
    assert sum(y for plot, _, _, y in report.points if plot == "rate") > 0


def test_messages_in_any_order_are_put_in_order(spark, tmp_path):
    messages = [Stored("p", number, 0) for number in (0, 1, 2, 4, 3, 5, 7, 8, 8)]
    table = message_table(messages)
    mixed = table.take(pa.array(np.random.default_rng(5).permutation(len(messages))))
    report = audit(spark, input_folder=write(tmp_path / "mixed", mixed.slice(0, 5), mixed.slice(5)))
    found = {(row["kind"], row["first"], row["where"]) for row in rows(report, "findings")}
    assert found == {
        ("lost", 6, "after broker-a:0 offset 5; before broker-a:0 offset 6"),
        ("duplicated", 8, "broker-a:0 offset 7; broker-a:0 offset 8"),
        ("out of order", 3, "broker-a:0 offset 4"),
    }


# --- traces -----------------------------------------------------------------------------------------------------------


def trace_message(*contexts: TraceContext, queue: int = 0, process: int = 0) -> Stored:
    body = "".join(encode_trace_context(context) for context in contexts).encode()
    unique_id = UniqueIdGenerator("127.0.0.1", process, 0, lambda: EPOCH_MS).next() if process else None
    return Stored(None, 0, queue, topic=TRACE_TOPIC, body=body, unique_id=unique_id)


def consumed(unique_id: str, group: str = "G", call: str = "call", ok: bool = True, at_ms: int = EPOCH_MS + 40):
    bean = TraceBean(message_id=unique_id)
    return TraceContext(TraceType.SUB_AFTER, at_ms, group, (bean,), request_id=call + unique_id, success=ok)


def swallowed(unique_id: str):
    bean = TraceBean(message_id=unique_id, is_swallowed=True)
    return TraceContext(TraceType.SUB_AFTER, EPOCH_MS + 50, "G", (bean,), request_id=f"again {unique_id}")


def acknowledged(unique_id: str, kind: MessageType = MessageType.NORMAL_MSG, topic: str = "T"):
    bean = TraceBean(message_id=unique_id, topic=topic, message_type=kind)
    return TraceContext(TraceType.PUB, EPOCH_MS, "senders", (bean,))


def test_groups_are_audited_by_what_their_members_noted(spark, tmp_path):
    messages = [Stored("p", number, number % 2, unique_id=f"id{number}") for number in range(20)]
    notes_of_group = [consumed(f"id{number}") for number in range(20) if number not in (4, 7)]
    notes_of_group += [consumed("id3", call="again"), consumed("id5", call="first", ok=False)]
    # A note that was sent twice is one note; a note about a message of another topic does not count.
    notes_of_group += [consumed("id6"), consumed("elsewhere")]
    # Nobody has worked on a duplicate that was swallowed; that it was tells that the work is done.
    notes_of_group += [swallowed("id8"), swallowed("id9"), swallowed("id4")]
    begun_late = [consumed(f"id{number}", group="Late") for number in range(10, 20) if number != 14]
    sent = [acknowledged(f"id{number}") for number in range(20)]
    sent += [acknowledged("gone"), acknowledged("half", MessageType.TRANS_MSG_HALF), acknowledged("x", topic="Other")]
    nonsense = b"SubAfter\x01too few\x02\xff\xfe\x02Whatever\x02"
    broken = Stored(None, 0, 1, topic=TRACE_TOPIC, body=nonsense)
    traces = [trace_message(*notes_of_group), trace_message(*begun_late, *sent), broken]
    report = audit(spark, input_folder=write(tmp_path / "all", message_table(messages + traces)))
    groups = {row["group"]: row for row in rows(report, "groups")}
    assert groups["G"] == {
        "group": "G", "topic": "T", "stored": 20, "consumed": 19, "missing": 1, "unreported": 0, "twice": 1,
        "failed": 1, "findings": 2,
    }  # fmt: skip
    # It began after the first messages: earlier ones do not concern it.
    assert (groups["Late"]["consumed"], groups["Late"]["missing"]) == (9, 1)
    findings = {(row["kind"], row["who"], row["queue"], row["first"]) for row in rows(report, "findings")}
    assert findings == {
        ("not consumed", "G", "broker-a:1", 3),
        ("not consumed", "Late", "broker-a:0", 7),
        ("consumed twice", "G", "broker-a:1", 1),
        ("failed", "G", "broker-a:1", 2),
        ("acknowledged, not stored", "senders", "", None),
    }
    assert "1 messages were acknowledged" in notes(report)
    assert "1 records of the trace topic could not be read" in notes(report)
    latency = {(row["from_to"], row["group"]): row for row in rows(report, "latency")}
    assert latency["stored > consumed", "G"]["p50"] == 40
    assert latency["stored > consumed", "G"]["messages"] == 19


def test_a_group_that_was_asked_for_must_have_consumed_everything(spark, tmp_path):
    messages = [Stored("p", number, 0, unique_id=f"id{number}") for number in range(6)]
    traces = [trace_message(consumed("id4", group="Late"), consumed("id5", group="Late"), consumed("id0", group="G"))]
    folder = write(tmp_path / "all", message_table(messages + traces))
    report = audit(spark, input_folder=folder, groups="Late, Silent", topics="T")
    assert {row["group"]: row["missing"] for row in rows(report, "groups")} == {"Silent": 6, "Late": 4}
    asked = [note["en"] for note in report.notes if "message trace enabled" in note["en"]]
    assert len(asked) == 1 and asked[0].startswith("Silent reported nothing")


@pytest.mark.parametrize("follow", [False, True])
def test_where_the_next_consumer_began_shows_that_the_reports_of_the_one_before_are_lost(spark, tmp_path, follow):
    messages = [Stored("p", number, 0, unique_id=f"id{number}") for number in range(20)]
    killed = [consumed(f"id{number}", at_ms=EPOCH_MS + number) for number in range(5)]
    # It failed, and came back as a retry to a client that does not own the queue.
    killed += [consumed("id5", call="first", ok=False, at_ms=EPOCH_MS + 5)]
    retried = [consumed("id5", at_ms=EPOCH_MS + 6)]
    then = [consumed(f"id{number}", at_ms=EPOCH_MS + 30 + number) for number in range(9, 18)]
    traces = [trace_message(*killed, process=7), trace_message(*retried, process=8), trace_message(*then, process=9)]
    if follow:
        report = MemoryReport()
        follower = Follower(spark, str(tmp_path), replace(RULES, groups=("G",), grace_ms=0), report)
        follower.add_batch(spark.createDataFrame(message_table(messages + traces[:1])), 0)
        follower.add_batch(spark.createDataFrame(message_table(traces[1:])), 1)
        follower.conclude()
    else:
        folder = write(tmp_path / "all", message_table(messages + traces))
        report = audit(spark, input_folder=folder, groups="G", topics="T")
    found = [(row["kind"], row["first"], row["last"], row["certainty"]) for row in rows(report, "findings")]
    assert found == [
        ("not consumed", 18, 19, "possible"),
        ("not reported", 6, 8, "likely"),
        ("failed", 5, 5, "certain"),
    ]
    where = rows(report, "findings")[1]["where"]
    assert "127.0.0.1@7#00000000 ended without shutting down, its last report is of 20" in where
    assert where.endswith("127.0.0.1@9#00000000 continued at offset 9")
    (group,) = rows(report, "groups")
    assert (group["consumed"], group["missing"], group["unreported"]) == (15, 2, 3)


def test_a_stream_forgets_a_message_when_the_groups_of_its_topic_have_consumed_it(spark, tmp_path):
    def numbered(topic: str) -> list[Stored]:
        return [Stored("p", number, 0, unique_id=f"{topic}{number}", topic=topic) for number in range(2)]

    calls = [consumed("T0", "billing"), consumed("T1", "billing"), consumed("U0", "mailing")]
    rules = replace(RULES, topics=("T", "U"), groups=("billing@T", "mailing@U"), grace_ms=0)
    follower = Follower(spark, str(tmp_path), rules, MemoryReport())
    follower.add_batch(spark.createDataFrame(message_table(numbered("T") + numbered("U"))), 0)
    follower.add_batch(spark.createDataFrame(message_table([trace_message(*calls)])), 1)
    follower.conclude()
    pending = spark.read.parquet(follower.files.uri("audit/pending-0000000001"))
    kept = {row.unique_id for row in pending.filter("kind = 'stored'").collect()}
    assert kept == {"U1"}


def test_ledgers_in_a_folder_count_and_a_sound_folder_says_so(spark, tmp_path):
    def ledger(numbered: int) -> Stored:
        body = NumberingLedger("p", "T", numbered).encode()
        return Stored(None, 0, 0, topic=NUMBERING_LEDGER_TOPIC, body=body)

    sound = message_table([Stored("p", 0, 0), Stored("p", 1, 1), ledger(2)])
    report = audit(spark, input_folder=write(tmp_path / "sound", sound))
    assert rows(report, "findings") == []
    assert "no numbered message is lost" in notes(report)
    nonsense = Stored(None, 0, 1, topic=NUMBERING_LEDGER_TOPIC)
    long = replace(nonsense, body=b"9" * (LEDGER_BYTES_MAX + 1))
    short = message_table([Stored("p", 0, 0), Stored("p", 1, 1), ledger(4), nonsense, long])
    report = audit(spark, input_folder=write(tmp_path / "short", short))
    assert "2 messages of the ledger topic are not valid ledgers" in notes(report)
    (finding,) = rows(report, "findings")
    assert report.tables["findings"][0][-1]["zh"] == "在 broker-a:1 位点 0 之后"
    assert (finding["kind"], finding["first"], finding["last"], finding["where"]) == (
        "lost", 2, 3, "after broker-a:1 offset 0",
    )  # fmt: skip


def test_notes_of_java_clients_can_be_read(spark):
    # Written by hand after TraceDataEncoder of RocketMQ 4.9.8: Java prints null and true so.
    place, true = "10.0.0.1:10911", "true"
    pub = (
        f"Pub\x011700000000000\x01R\x01g\x01T\x01AC11\x01null\x01k\x01{place}\x015\x013\x010\x010A00\x01{true}\x01\x02"
    )
    older = f"Pub\x011700000000000\x01R\x01g\x01T\x01AC12\x01t\x01k\x01{place}\x015\x013\x010\x01true\x02"
    after = "SubAfter\x01call\x01AC11\x0112\x01false\x01null\x013\x011700000000009\x01c\x02"
    trace = spark.createDataFrame([(f"{pub}{older}{after}".encode(), None)], "body binary, unique_id string")
    events = trace_events(trace, ("T",), JudgedGroups())
    names = ("unique_id", "kind", "topic", "at_ms", "client_group", "call", "is_ok", "client")
    assert [tuple(event) for event in events.select(*names).collect()] == [
        ("AC11", "acknowledged", "T", 1_700_000_000_000, "", "", True, "g"),
        ("AC12", "acknowledged", "T", 1_700_000_000_000, "", "", True, "g"),
        ("AC11", "called", None, 1_700_000_000_009, "c", "call", False, ""),
    ]


# --- a stream ---------------------------------------------------------------------------------------------------------

RULES = FollowRules(("T",), (), TRACE_TOPIC, NUMBERING_LEDGER_TOPIC, late_ms=100, grace_ms=1_000, read_limit=100)


def test_a_stream_that_is_killed_between_two_steps_counts_every_batch_once(spark, tmp_path):
    def at(ms: int, *messages: Stored) -> list[Stored]:
        return [replace(message, stored_ms=EPOCH_MS + ms) for message in messages]

    first = at(0, *[Stored("p", number, 0, unique_id=f"id{number}") for number in (0, 1, 3)])
    first += at(0, trace_message(consumed("id0"), consumed("id1")))
    second = at(900, Stored("p", 4, 0, unique_id="id4"))
    second += at(900, trace_message(consumed("id0", call="again")))
    third = at(2_500, Stored("p", 5, 0, unique_id="id5"))
    third += at(2_500, trace_message(consumed("id4", at_ms=EPOCH_MS + 950), consumed("id5")))
    healing = at(2_600, Stored("p", 2, 1, unique_id="id2"), Stored("p", 6, 0, unique_id="id6"))
    healing += at(2_600, trace_message(consumed("id3", at_ms=EPOCH_MS + 2_550)))
    whole = message_table(first + second + third + healing)
    ends = np.cumsum([0, len(first), len(second), len(third), len(healing)]).tolist()
    frames = [spark.createDataFrame(whole.slice(begin, end - begin)) for begin, end in itertools.pairwise(ends)]
    report = MemoryReport()

    def follower() -> Follower:
        """A driver that has just been started."""
        return Follower(spark, str(tmp_path / "checkpoint"), RULES, report)

    def reported() -> tuple:
        (producer,) = [row for row in rows(report, "producers") if row["topic"] == "T"]
        (group,) = rows(report, "groups")
        verdict = (producer["stored"], producer["lost"], producer["not_judged"])
        return (*verdict, group["consumed"], group["missing"], group["twice"])

    running = follower()
    running.add_batch(frames[0], 0)
    assert reported() == (3, 0, 1, 2, 0, 0)
    running.add_batch(frames[1], 1)
    assert reported() == (4, 0, 1, 2, 0, 1)
    # It died, and Spark hands out the last batch once more, since it does not know that it was done.
    running = follower()
    running.add_batch(frames[1], 1)
    running.add_batch(frames[2], 2)
    assert reported() == (5, 1, 0, 4, 1, 1)
    # It died in the middle of the next batch: the pending events are written, the state is not.
    dying = follower()
    dying._save = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        dying.add_batch(frames[3], 3)
    running = follower()
    running.add_batch(frames[3], 3)
    # What had been called lost has come after all, and so has the missing note.
    assert reported() == (7, 0, 0, 5, 0, 1)
    # Calls that are looked at in every batch, as their messages may be consumed once more, count once for the time.
    (took,) = [row for row in rows(report, "latency") if row["from_to"] == "stored > consumed"]
    assert (took["messages"], took["longest"]) == (6, 2_550)
    assert len(list((tmp_path / "checkpoint" / "audit").iterdir())) <= 6
    with pytest.raises(JobFailed, match="different arguments"):
        Follower(spark, str(tmp_path / "checkpoint"), replace(RULES, topics=("U",)), report)


def reported_lost(report: MemoryReport) -> int:
    return sum(row["lost"] for row in rows(report, "producers")) if "producers" in report.tables else 0


def test_after_a_full_batch_that_was_the_last_its_holes_are_judged_too(spark, tmp_path):
    """Two queues, so that the batch's horizon lags the newest message; it is not known that nothing follows."""
    rules = replace(RULES, grace_ms=0, read_limit=3)
    messages = [Stored("p", 0, 0), Stored("p", 1, 1), Stored("p", 3, 0, stored_ms=EPOCH_MS + 900)]
    report = MemoryReport()
    follower = Follower(spark, str(tmp_path), rules, report, trigger_ms=1, has_trace=False)
    follower.add_batch(spark.createDataFrame(message_table(messages)), 0)
    wait_until(lambda: reported_lost(report), "a report of the lost message")
    assert reported_lost(report) == 1


def test_what_lies_in_the_ledger_topic_and_is_no_ledger_does_not_stop_a_stream(spark, tmp_path):
    bodies = [NumberingLedger("p", "T", 2).encode(), b"\xff\xfe", b"9" * (LEDGER_BYTES_MAX + 1)]
    ledgers = [Stored(None, 0, 0, topic=NUMBERING_LEDGER_TOPIC, body=body) for body in bodies]
    follower = Follower(spark, str(tmp_path), RULES, MemoryReport(), has_trace=False)
    follower.add_batch(spark.createDataFrame(message_table([Stored("p", 0, 0), *ledgers])), 0)
    follower.conclude()
    assert follower.book.unreadable_ledgers == 2
    assert follower.book.producers["p", "T"].verdict().has_ended


@pytest.mark.parametrize("batch", [0, 2, 7])
def test_a_query_that_does_not_go_with_the_books_is_refused(spark, tmp_path, batch):
    """Somebody deleted one of the two folders: batches would be passed over, or be missing, in silence."""
    frame = spark.createDataFrame(message_table([Stored("p", 0, 0)]))
    follower = Follower(spark, str(tmp_path), RULES, MemoryReport(), has_trace=False)
    if batch == 0:
        follower.add_batch(frame, 0)
        follower.add_batch(frame, 1)
        follower.conclude()
    with pytest.raises(JobFailed, match=f"delivers batch {batch}; one of the two was deleted"):
        follower.add_batch(frame, batch)


def test_a_restart_audits_traces_from_where_they_begin(spark, tmp_path):
    """The first start found no trace topic; its note asks for a restart once there is one."""

    def later(ms, message):
        return replace(message, stored_ms=EPOCH_MS + ms)

    first = [Stored("p", number, 0, unique_id=f"id{number}") for number in (0, 1)]
    second = [Stored("p", 2, 0, unique_id="id2"), trace_message(acknowledged("id0"), consumed("id0"))]
    second += [trace_message(consumed("id2", at_ms=EPOCH_MS + 1_040))]
    whole = message_table([*first, *(later(1_000, message) for message in second)])
    report = MemoryReport()
    follower = Follower(spark, str(tmp_path), replace(RULES, grace_ms=0), report, has_trace=False)
    follower.add_batch(spark.createDataFrame(whole.slice(0, 2)), 0)
    follower.conclude()
    follower = Follower(spark, str(tmp_path), replace(RULES, grace_ms=0), report)
    follower.add_batch(spark.createDataFrame(whole.slice(2)), 1)
    follower.conclude()
    (group,) = rows(report, "groups")
    assert (group["consumed"], group["missing"]) == (1, 0)
    assert not rows(report, "findings"), "id0 was acknowledged and is stored, in a batch without traces"


def test_books_of_another_version_are_refused(spark, tmp_path):
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "state-0000000003.json").write_text('{"batch": 3, "rules": {}, "book": {}}')
    with pytest.raises(JobFailed, match="another version"):
        Follower(spark, str(tmp_path), RULES, MemoryReport())


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ({"input_folder": "x", "follow": "true"}, "follow requires a broker"),
        ({"topics": "T", "starting_offsets": "latest"}, "requires follow"),
        ({"topics": "T", "groups": "G", "judge_groups": False}, "leave out one of the two"),
        ({"topics": "T,U", "groups": "G@T,G@V", "follow": True}, "V is not one of the audited topics: T, U"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, reported):
    with pytest.raises(JobFailed, match=reported):
        audit(None, **arguments)


def test_files_without_the_columns_of_a_message_are_refused(spark, tmp_path):
    folder = write(tmp_path / "other", pa.table({"a": [1]}))
    with pytest.raises(JobFailed, match="lack the columns topic, broker_name"):
        audit(spark, input_folder=folder)
