"""Moving messages aside and sending them later, against a running broker; it dies in every phase."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from engine.pipeline.errors import JobFailed, WrongArgument
from engine.pipeline.jobs.backlog_relief.group_progress import write_progress
from tests.support.backlog import Backlog, consume
from tests.support.live_server import LiveServer, message


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


def test_a_short_backlog_is_left_alone(backlog):
    backlog.send().group_at(0)
    backlog.run(relieve_above=24)
    assert not list(backlog.folder.glob("topic=*"))
    assert (
        backlog.report.notes[-1]["en"] == "nothing was moved: the group is 24 messages behind, and relieve_above is 24"
    )


def test_a_range_goes_on_where_it_ended_and_a_new_one_begins_ahead_of_the_group(backlog):
    backlog.send().group_at(0)
    backlog.run(left_to_group=0, relieve_above=0)
    backlog.send()
    backlog.group_at(2)
    backlog.run(left_to_group=0, relieve_above=0)
    assert set(backlog.marks()[0].values()) == {0} and backlog.stored() == backlog.low_beyond(0)

    ends = backlog.cluster.max_offsets(backlog.queues)
    write_progress(backlog.cluster, backlog.group, ends)
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


@pytest.mark.long
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
    write_progress(backlog.cluster, backlog.group, ends := backlog.cluster.max_offsets(backlog.queues))
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


def test_a_limited_rate_sends_in_portions_to_any_topic_each_queue_in_its_order(backlog, server):
    backlog.send().group_at(0)
    backlog.run()
    write_progress(backlog.cluster, backlog.group, backlog.cluster.max_offsets(backlog.queues))
    later = f"{backlog.topic}-later"
    server.send(message(later, "first"))
    backlog.run(mode="send", messages_per_second=4, send_to=later)

    sent = [row for row in backlog.rows(later) if "MOVED_FROM" in row.properties]
    assert sorted(row.body.decode() for row in sent) == backlog.stored()
    by_origin = {}
    for row in sent:
        origin, _, offset = row.properties["MOVED_FROM"].rpartition(" ")
        by_origin.setdefault((origin, row.queue_id), []).append(int(offset))
    assert len(by_origin) == len(backlog.queues) and all(offsets == sorted(offsets) for offsets in by_origin.values())
    assert len([progress for progress in backlog.report.progresses if progress[1]]) >= 3, "in portions"


def test_sending_waits_until_the_group_has_caught_up(backlog):
    backlog.send().group_at(0)
    backlog.run()
    with pytest.raises(JobFailed, match=r"24 messages behind; send when it is fewer than until_below \(5\) behind"):
        backlog.run(mode="send")


def test_a_folder_of_another_rule_is_refused(backlog):
    backlog.send().group_at(0)
    backlog.run()
    with pytest.raises(JobFailed, match=r"by the rule 'bulk'; this is group .* and 'other'"):
        backlog.run(low_priority="other")


def test_a_rule_that_says_nothing_is_refused(backlog):
    backlog.send()
    with pytest.raises(WrongArgument, match="tags \\(bulk,report\\) or a property \\(level=low\\)"):
        backlog.run(low_priority="=low")
