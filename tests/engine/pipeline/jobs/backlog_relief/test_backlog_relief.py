"""Moving messages aside and sending them later, against a running broker; it dies in every phase."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import closing
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from engine.pipeline.errors import JobFailed, WrongArgument
from engine.pipeline.jobs.backlog_relief import job
from engine.pipeline.jobs.backlog_relief.job import Relief
from engine.pipeline.jobs.backlog_relief.moved_aside import LowPriority, mark_groups
from tests.support.live.live_server import LiveServer, message
from tests.support.pipeline.backlog import Backlog, consume


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("broker"), page=False) as server:
        yield server


@pytest.fixture
def backlog(spark, server, tmp_path, request):
    backlog = Backlog(spark, server.name_servers[0], tmp_path, request.node.name.removeprefix("test_")[:40])
    with closing(backlog.cluster):
        yield backlog


def test_low_ones_ahead_of_the_group_are_stored_and_the_marks_say_so(backlog):
    backlog.send().group_at(0)
    backlog.run()

    low = backlog.low_beyond(1)
    assert len(low) > 8 and backlog.stored() == low
    ends = backlog.cluster.max_offsets(backlog.queues)
    assert backlog.marks() == [dict.fromkeys(backlog.queues, 1), ends]
    moved = backlog.report.tables["moved"]
    assert sum(row[5] for row in moved) == len(low) and sum(row[5] + row[6] for row in moved) == 24 - len(
        backlog.queues
    )
    assert {(series, y) for plot, series, _, y in backlog.report.points if plot == "backlog"} == {
        ("without", 24),
        ("with relief", 24 - len(low)),
    }
    assert set(backlog.marks("other")[1].values()) <= {0}, "consumers with another rule find no marks"


def test_of_a_queue_that_the_group_is_through_with_nothing_is_stored(backlog):
    backlog.send()
    ends = backlog.cluster.max_offsets(backlog.queues)
    behind = backlog.queues[1]
    backlog.cluster.store_group_offsets(backlog.group, {**ends, behind: 0})
    backlog.run(left_to_group=0, relieve_above=0)
    low = [row.body.decode() for row in backlog.rows() if row.tags == "bulk" and row.queue_id == behind.queue_id]
    assert backlog.stored() == sorted(low)


def test_a_short_backlog_is_left_alone(backlog):
    backlog.send().group_at(0)
    backlog.run(relieve_above=24)
    assert not list(backlog.folder.glob("topic=*"))
    assert backlog.report.notes[-1]["en"] == "nothing was moved: the group lags by 24 messages; relieve_above is 24"


def test_a_range_goes_on_where_it_ended_and_a_new_one_begins_ahead_of_the_group(backlog):
    backlog.send().group_at(0)
    backlog.run(left_to_group=0, relieve_above=0)
    backlog.send()
    backlog.group_at(2)
    backlog.run(left_to_group=0, relieve_above=0)
    assert set(backlog.marks()[0].values()) == {0} and backlog.stored() == backlog.low_beyond(0)

    ends = backlog.cluster.max_offsets(backlog.queues)
    backlog.cluster.store_group_offsets(backlog.group, ends)
    backlog.send()
    backlog.run(left_to_group=1, relieve_above=0)
    assert backlog.marks()[0] == {queue: end + 1 for queue, end in ends.items()}, (
        "what the group has passed is left out"
    )


@pytest.mark.parametrize("point", ["staged", "committed", "moved a file", "published"])
def test_dying_while_moving_stores_each_once_and_marks_no_more_than_is_stored(spark, server, tmp_path, point):
    backlog = Backlog(spark, server.name_servers[0], tmp_path, f"dying-{point.replace(' ', '-')}").send()
    backlog.group_at(0)
    backlog.dies(point)
    assert not any(backlog.marks()[1].values()), "consumers have not been told yet"
    backlog.run()

    assert backlog.stored() == backlog.low_beyond(1)
    assert backlog.marks()[1] == backlog.cluster.max_offsets(backlog.queues)
    backlog.cluster.close()


def test_a_consumer_leaves_out_what_is_stored_and_gets_it_later(backlog):
    """The whole story: the group gets what is urgent at once, the rest when it was sent again; nothing twice."""
    backlog.send().group_at(0)
    backlog.run()
    aside = set(backlog.stored())
    consumed, left_out = asyncio.run(consume(backlog, lambda consumed: len(consumed) >= 24 - len(aside)))
    assert sorted(consumed) == sorted({row.body.decode() for row in backlog.rows()} - aside)
    assert left_out == len(aside)

    backlog.run(mode="send")
    consumed, left_out = asyncio.run(consume(backlog, lambda consumed: len(consumed) >= len(aside)))
    assert sorted(consumed) == sorted(aside) and left_out == 0
    assert set(consumed.values()) == {(1, backlog.topic)}, "under the topic that they came from"


@pytest.mark.parametrize("point", ["committed", "sent"])
def test_dying_while_sending_sends_each_once_and_in_order(spark, server, tmp_path, point):
    backlog = Backlog(spark, server.name_servers[0], tmp_path, f"sending-dies-{point}").send()
    backlog.group_at(0)
    backlog.run()
    aside = backlog.stored()
    backlog.cluster.store_group_offsets(backlog.group, ends := backlog.cluster.max_offsets(backlog.queues))
    backlog.dies(point, mode="send", send_to=backlog.topic)
    backlog.dies(point, mode="send", send_to=backlog.topic) if point == "sent" else None
    backlog.run(mode="send", send_to=backlog.topic)

    rows = backlog.rows()
    again = [row for row in rows if "MOVED_FROM" in row.properties]
    assert sorted(row.body.decode() for row in again) == aside
    first = {row.body: row for row in rows if "MOVED_FROM" not in row.properties}
    for row in again:
        before = first[row.body]
        assert (
            row.properties["MOVED_FROM"]
            == f"{before.topic} {before.broker_name}:{before.queue_id} {before.queue_offset}"
        )
        assert (row.queue_id, row.keys, row.tags) == (before.queue_id, before.keys, before.tags)
        assert row.queue_offset >= ends[backlog.queues[0]._replace(broker_name=row.broker_name, queue_id=row.queue_id)]
    origins = [(row.queue_id, first[row.body].queue_offset) for row in again]
    assert origins == sorted(origins), "each queue in its order"
    assert backlog.report.tables["sent"] == [] and backlog.report.progresses[-1] == (len(aside), len(aside), "messages")
    assert backlog.marks()[0] == backlog.marks()[1] == ends, "a group that is set back on purpose works on all again"
    backlog.cluster.close()


def commit_beside(backlog):
    """What a job of the other mode does meanwhile."""
    folder = Relief(backlog.run_for(), backlog.cluster)._folder
    folder.commit(folder.latest()[0], None, folder.latest()[1])


def test_a_limited_rate_sends_in_portions_to_any_topic_each_queue_in_its_order(backlog, server, monkeypatch):
    backlog.send().group_at(0)
    backlog.run()
    backlog.cluster.store_group_offsets(backlog.group, backlog.cluster.max_offsets(backlog.queues))
    Relief(backlog.run_for(mode="send"), backlog.cluster)._close_ranges()
    assert set(backlog.marks()[0].values()) == {1}, "as long as something waits to be sent"
    later = f"{backlog.topic}-later"
    server.send(message(later, "first"))
    run = backlog.run_for(mode="send", messages_per_second=4, send_to=later)
    pauses, sent = [], []
    monkeypatch.setattr(run.stop, "wait", pauses.append)
    monkeypatch.setattr(job, "time", SimpleNamespace(time=time.time, monotonic=lambda: 0.0))

    def reached(point):
        if point == "sent":
            sent.append(point)
            # A portion whose end cannot be noted, because a mover was quicker, is tried again: nothing twice.
            if len(sent) == 1:
                commit_beside(backlog)

    Relief(run, backlog.cluster, reached).send_later()
    assert sum(pauses) == len(backlog.stored()) / 4

    sent = [row for row in backlog.rows(later) if "MOVED_FROM" in row.properties]
    assert sorted(row.body.decode() for row in sent) == backlog.stored()
    by_origin = {}
    for row in sent:
        origin, _, offset = row.properties["MOVED_FROM"].rpartition(" ")
        by_origin.setdefault((origin, row.queue_id), []).append(int(offset))
    assert len(by_origin) == len(backlog.queues) and all(offsets == sorted(offsets) for offsets in by_origin.values())
    assert len([progress for progress in backlog.report.progresses if progress[1]]) >= 3, "in portions"


def test_what_no_producer_would_send_is_sent_and_what_no_broker_takes_stays(backlog, server):
    backlog.send(4).group_at(0)
    topic, limit = backlog.topic, 1_024
    noise = random.Random(1)
    too_long, long = noise.randbytes(limit + 100), b"so it is " * 1_000
    server.send(
        message(topic, too_long, tags="bulk"),
        message(topic, long, tags="bulk"),
        message(topic, "narrow", tags="bulk", properties={"wide": "x" * 32_550}),
    )
    odd = backlog.spark.createDataFrame(
        [(topic, b"", "bulk", {}), (topic, b"blank", "bulk", {"note": " "})],
        "topic string, body binary, tags string, properties map<string,string>",
    )
    odd.write.format("rocketmq").options(**backlog.cluster_options, copiesMessages="true").mode("append").save()
    backlog.run(left_to_group=0, relieve_above=0)
    aside = {row["body"] for row in pq.read_table(backlog.folder).to_pylist()}
    assert {too_long, long, b"narrow", b"", b"blank"} <= aside
    ends = backlog.cluster.max_offsets(backlog.queues)
    one = backlog.queues[0]
    backlog.cluster.store_group_offsets(backlog.group, {**ends, one: ends[one] - 1})
    backlog.dies("sent", mode="send", send_to=topic, max_message_bytes=limit)
    backlog.run(mode="send", send_to=topic, max_message_bytes=limit)
    assert backlog.marks()[0] == {**ends, one: 0}, "the group has not passed that range yet, and asks for it"

    again = [row for row in backlog.rows() if "MOVED_FROM" in row.properties]
    sent = {row.body: row for row in again}
    assert len(again) == len(sent) and set(sent) == aside - {too_long, b"narrow"}
    assert sent[b"blank"].properties["note"] == " "
    kept = {row["body"]: row for row in pq.read_table(backlog.folder / "_not_sent").to_pylist()}
    assert set(kept) == {too_long, b"narrow"}
    assert dict(kept[b"narrow"]["properties"])["wide"] == "x" * 32_550
    assert "allowed: at most 1024 (option maxMessageBytes" in kept[too_long]["refusal"]
    reported = {row[0]: row[1:] for row in backlog.report.tables["not_sent"]}
    assert reported[kept[too_long]["moved_from"]] == ["body too long", limit + 100]
    assert reported[kept[b"narrow"]["moved_from"]][0] == "properties too long"
    assert backlog.report.notes[-1]["en"].startswith("2 messages exceed the brokers' size limit and are not resent")
    assert backlog.report.progresses[-1] == (len(sent), len(sent), "messages") and not backlog.report.tables["sent"]

    sent_once = len(backlog.rows())
    backlog.run(mode="send", send_to=topic)
    assert len(backlog.rows()) == sent_once, "they do not wait to be sent"


def test_messages_of_a_queue_that_is_gone_go_where_their_key_leads_the_others_where_they_were(backlog, server):
    backlog.send(12).group_at(0)
    backlog.run(left_to_group=0)
    backlog.send(12)
    backlog.run(left_to_group=0)
    aside = backlog.stored()
    backlog.cluster.store_group_offsets(backlog.group, backlog.cluster.max_offsets(backlog.queues))
    server.create_topic(backlog.topic, 2)
    backlog.run(mode="send", send_to=backlog.topic)

    again = [row for row in backlog.rows() if "MOVED_FROM" in row.properties]
    assert sorted(row.body.decode() for row in again) == aside
    came_from = {}
    for row in again:
        label, offset = row.properties["MOVED_FROM"].split(" ")[1:]
        came_from.setdefault(int(label.rpartition(":")[2]), []).append((row.queue_id, int(offset)))
    assert {queue_id for queue_id, _ in came_from[0]} == {0} and {queue_id for queue_id, _ in came_from[1]} == {1}
    assert set(came_from) == {0, 1, 2, 3}
    for places in came_from.values():
        assert len({queue_id for queue_id, _ in places}) == 1
        assert places == sorted(places), "each queue in its order, over both batches"


def test_what_the_group_came_to_while_it_was_stored_is_counted(backlog):
    backlog.send().group_at(0)
    came, ends = [], backlog.cluster.max_offsets(backlog.queues)

    def reached(point):
        came.append(point)
        if came.count("staged") == 1 and point == "staged":
            commit_beside(backlog)
        if point == "committed":
            backlog.group_at(3)

    Relief(backlog.run_for(), backlog.cluster, reached).move_aside()
    assert came.count("staged") == 2 and backlog.stored() == backlog.low_beyond(1), "the second try, each once"
    both = sum(min(2, moved) for *_, moved, _ in backlog.report.tables["moved"])
    assert f"up to {both} will be processed twice" in backlog.report.notes[-1]["en"]
    assert backlog.marks() == [dict.fromkeys(backlog.queues, 1), ends]

    for group in mark_groups(backlog.group, LowPriority.parse("bulk")):
        backlog.cluster.store_group_offsets(group, dict.fromkeys(backlog.queues, 0))
    backlog.run(relieve_above=1_000)
    assert backlog.marks()[1] == ends, "a broker that forgot the marks is told again at the next start"


def test_sending_waits_until_the_group_has_caught_up(backlog):
    backlog.send().group_at(0)
    backlog.run()
    with pytest.raises(JobFailed, match=r"lags by 24 messages; resend once it lags by fewer than until_below \(5\)"):
        backlog.run(mode="send")
    ends = backlog.cluster.max_offsets(backlog.queues)
    backlog.cluster.store_group_offsets(backlog.group, {queue: max(0, end - 5) for queue, end in ends.items()})
    lag = sum(min(5, end) for end in ends.values())
    with pytest.raises(JobFailed, match=rf"lags by fewer than until_below \({lag}\)"):
        backlog.run(mode="send", until_below=lag)


def test_a_folder_of_another_rule_is_refused(backlog):
    backlog.send().group_at(0)
    backlog.run()
    with pytest.raises(JobFailed, match=r"by the rule 'bulk', but this run is for group .* and 'other'"):
        backlog.run(low_priority="other")


def test_a_rule_that_says_nothing_is_refused(backlog):
    backlog.send()
    with pytest.raises(WrongArgument, match="tags \\(bulk,report\\) or a property \\(level=low\\)"):
        backlog.run(low_priority="=low")
