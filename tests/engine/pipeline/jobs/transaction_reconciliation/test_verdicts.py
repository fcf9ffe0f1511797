"""What the messages of a transaction say about it.

Each story is the log of a broker of its own; Spark judges all of them in one go, as it would a cluster of such brokers.
"""

from __future__ import annotations

import random

import pyarrow.compute as pc
import pytest

from engine.pipeline.jobs.transaction_reconciliation.facts import facts_of, merge, parts_of
from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue, bounds_of, forget, halves_until_ms, judge
from engine.pipeline.jobs.transaction_reconciliation.words import Status, TransactionAnomaly
from tests.support.pipeline.transaction_log import START, TransactionLog, messages

STORIES, EXPECTED = {}, {}


def story(expected=None):
    """Keep the log that a function writes, and what is said of it: identity -> (status, findings)."""

    def keep(report):
        log = TransactionLog(broker_name=report.__name__)
        report(log)
        STORIES[report.__name__] = log
        if expected is not None:
            EXPECTED[report.__name__] = expected

    return keep


def facts(spark, rows):
    return facts_of(parts_of(messages(spark, rows)))


def rows_of(*logs):
    return [row for log in logs for row in log.rows]


def verdicts(merged, op_queue=None, topics=None):
    """broker -> identity -> (status, findings)."""
    merged = merged.persist()
    judged = judge(merged, bounds_of(merged), op_queue or OpQueue(), topics)
    found = {}
    for row in judged.where("role <> 'forgotten'").collect():
        found.setdefault(row.broker_name, {})[row.identity] = (row.status, sorted(row.findings))
    return found


@pytest.fixture(scope="module")
def merged(spark):
    return merge(facts(spark, rows_of(*STORIES.values()))).persist()


@pytest.fixture(scope="module")
def judged(merged):
    return verdicts(merged)


@story({"open": (Status.OPEN, []), "committed": (Status.COMMITTED, []), "rolled back": (Status.ROLLED_BACK, [])})
def a_half_message_is_open_until_an_op_message_names_it_and_committed_when_its_message_is_there(log):
    for identity in ("open", "committed", "rolled back"):
        log.half(identity)
    log.ordinary()
    log.commit("committed")
    log.roll_back("rolled back")


@story()
def checked(log):
    log.half("t")
    log.half("other")
    log.half("t", checks=1)
    log.half("t", checks=2)
    log.roll_back("t")


def test_a_half_message_that_was_stored_anew_by_check_backs_is_one_transaction(merged):
    by_identity = {row.identity: row for row in merged.where("broker_name = 'checked'").collect()}
    found = by_identity["t"]
    assert sorted(by_identity) == ["other", "t"]
    assert [found.ops, found.copies, found.checks, sorted(found.half_offsets)] == [1, 3, 2, [0, 2, 3]]
    assert found.born == found.half_stored


@story(
    {
        "given up": (Status.GIVEN_UP, []),
        "resumed": (Status.OPEN, []),
        "decided at last": (Status.COMMITTED, []),
    }
)
def a_message_that_nobody_decided_is_given_up_and_open_again_once_it_was_resumed(log):
    log.half("given up", checks=15)
    log.half("resumed", checks=15)
    log.half("decided at last", checks=15)
    for identity in list(log.halves):
        log.give_up(identity)
    log.half("resumed")
    log.half("decided at last")
    log.commit("decided at last")


@story(
    {
        "twice": (Status.COMMITTED, [TransactionAnomaly.COMMITTED_TWICE]),
        "both": (Status.COMMITTED, [TransactionAnomaly.COMMITTED_AND_ROLLED_BACK]),
        "back twice": (Status.ROLLED_BACK, [TransactionAnomaly.ROLLED_BACK_TWICE]),
        "no op": (Status.COMMITTED, [TransactionAnomaly.COMMITTED_WITHOUT_OP]),
        "late end": (Status.COMMITTED, [TransactionAnomaly.COMMITTED_TWICE]),
        "lost half": (Status.COMMITTED, [TransactionAnomaly.COMMITTED_WITHOUT_HALF]),
        "nobody": (Status.OPEN, []),
        "last": (Status.OPEN, []),
        "7": (None, [TransactionAnomaly.OP_WITHOUT_HALF]),
    }
)
def what_must_not_have_happened_is_found(log):
    first = {identity: log.half(identity) for identity in ("twice", "both", "back twice", "no op", "late end")}
    log.half("nobody")
    log.commit("twice")
    log.commit("twice")
    log.roll_back("both")
    log.commit("both")
    log.roll_back("back twice")
    log.roll_back("back twice")
    log.visible("no op")
    log.half("late end", checks=1)
    log.commit("late end")
    log.commit("late end", first["late end"])
    stray = log.visible("nobody")
    stray |= {"unique_id": "lost half", "prepared_transaction_offset": 50}
    gone = log.half("gone")
    log.now_ms += 20_000
    log.half("last")
    log.op(gone["queue_offset"])
    log.rows.remove(gone)


@story()
def cut_off(log):
    log.half("expired")
    log.commit("expired")
    expired = log.rows[0]
    log.half("t")
    newest = log.half("newest")
    log.commit("newest")
    log.visible("t")  # its op message is not there yet
    # What was deleted from the front of the log, and what was stored after the half queue was read.
    log.rows = [row for row in log.rows if row is not newest and row is not expired]


def test_what_the_ends_of_the_queues_may_hide_is_not_a_finding(judged):
    assert {identity: found for identity, (_, found) in judged["cut_off"].items() if found} == {}
    assert judged["cut_off"]["t"] == (Status.COMMITTED, [])


@story({"open": (Status.ROLLED_BACK, [])})
def brokers_do_not_mix(log):
    log.half("open")
    log.roll_back("open")


@story({"t": (Status.COMMITTED, [])})
def copies_of_a_committed_message_in_retry_topics_are_no_further_commits(log):
    log.half("t")
    log.commit("t")
    copy = log.visible("t")
    copy |= {"topic": "%RETRY%g", "properties": {**copy["properties"], "REAL_TOPIC": "%RETRY%g"}}


@story()
def two_topics(log):
    log.half("a")
    log.topic = "Refunds"
    log.half("b")
    log.roll_back("b")
    log.half("c")
    log.roll_back("c")
    log.roll_back("c")


def test_nothing_is_said_of_transactions_for_topics_that_are_not_read(merged):
    found = verdicts(merged, topics=("Transfers",))["two_topics"]
    assert found == {"a": (Status.OPEN, []), "b": (Status.NOT_READ, []), "c": (Status.NOT_READ, [])}


@story({"a": (Status.ROLLED_BACK, []), "b": (Status.OPEN, []), "c": (Status.ROLLED_BACK, [])})
def an_op_message_may_name_several_half_messages_as_rocketmq_5_writes_it(log):
    for identity in "abc":
        log.half(identity)
    log.op(0, 2)


@pytest.mark.parametrize("name", EXPECTED)
def test_of_each_story_is_said_what_is_expected(judged, name):
    assert judged[name] == EXPECTED[name]


@story()
def no_unique_ids(log):
    log.half("t", unique_id=None)
    log.now_ms += 1_000
    log.half("t", unique_id=None, checks=1)
    log.commit("t")


def test_a_sender_without_unique_ids_is_followed_through_check_backs_all_the_same(judged):
    assert list(judged["no_unique_ids"].values()) == [(Status.COMMITTED, [])]


@story()
def no_ops(log):
    for identity in ("rolled back", "committed", "asked", "unknown"):
        log.half(identity)
    log.commit("committed")
    log.half("asked", checks=1)
    log.rows = [row for row in log.rows if row["tags"] != "d"]


def test_without_op_messages_the_place_of_the_check_service_says_what_is_rolled_back(merged):
    queue = OpQueue(is_readable=False, check_offsets={"no_ops": 3})
    assert verdicts(merged, queue)["no_ops"] == {
        "rolled back": (Status.ROLLED_BACK, []),
        "committed": (Status.COMMITTED, []),
        "asked": (Status.NOT_COMMITTED, []),
        "unknown": (Status.NOT_COMMITTED, []),
    }


def test_of_an_op_message_only_offsets_count(spark):
    log = TransactionLog()
    for body in (b"3", b"1, 2,4", b"", b"x,\xff,-1,7", b"9" * 19, "\N{ARABIC-INDIC DIGIT FIVE}".encode()):
        log.op()["body"] = body
    waiting = parts_of(messages(spark, log.rows)).collect()
    assert [row.named_offset for row in waiting] == [3, 1, 2, 4, 7]


def test_messages_that_are_no_part_of_a_transaction_give_no_facts(spark):
    log = TransactionLog()
    log.ordinary()
    log.half("t")
    log.ordinary()
    (fact,) = facts(spark, log.rows).collect()
    assert (fact.role, fact.identity, fact.half_offsets, fact.copies) == ("transaction", "t", [0], 1)


# --- any history -----------------------------------------------------------------------------------------------------


def random_log(seed, count=60):
    """A log with any mixture, in which senders decide any copy, and what a plain program says of it."""
    choice, log = random.Random(seed), TransactionLog(broker_name=f"random-{seed}")
    copies = {}
    actions = {f"t{number}": {"commits": 0, "ops": 0, "copies": 0, "given_up": False} for number in range(count)}
    for _ in range(count * 4):
        identity = choice.choice(list(actions))
        action, known = actions[identity], log.halves.get(identity)
        if known is None or choice.random() < 0.2:
            copies.setdefault(identity, []).append(log.half(identity, checks=action["copies"]))
            action["copies"] += 1
            action["given_up"] = False
            continue
        half = choice.choice(copies[identity])
        match choice.randrange(6):
            case 0:
                log.commit(identity, half)
                action["commits"] += 1
                action["ops"] += 1
            case 1:
                log.roll_back(identity, half)
                action["ops"] += 1
            case 2:
                log.give_up(identity)
                action["given_up"] = True
    # Something after everything, so that no end of a queue hides anything.
    log.half("end")
    log.roll_back("end")
    model = {identity: expected(action) for identity, action in actions.items() if action["copies"]}
    return log, model | {"end": (Status.ROLLED_BACK, [])}


def expected(action):
    findings = []
    if action["commits"] > 1:
        findings.append(TransactionAnomaly.COMMITTED_TWICE)
    if action["commits"] and action["ops"] > action["commits"]:
        findings.append(TransactionAnomaly.COMMITTED_AND_ROLLED_BACK)
    if not action["commits"] and action["ops"] > 1:
        findings.append(TransactionAnomaly.ROLLED_BACK_TWICE)
    if action["commits"]:
        status = Status.COMMITTED
    elif action["ops"]:
        status = Status.ROLLED_BACK
    else:
        status = Status.GIVEN_UP if action["given_up"] else Status.OPEN
    return status, sorted(findings)


def test_any_history_is_judged_as_a_plain_program_would_in_one_go_or_in_pieces(spark):
    reported = [random_log(seed) for seed in range(10)]
    model = {log.broker_name: verdict for log, verdict in reported}
    rows = [row for log, _ in reported for row in log.rows]
    assert verdicts(merge(facts(spark, rows))) == model
    # Op messages come before their half messages, commits before both, and what is merged is merged again.
    random.Random(1).shuffle(rows)
    cut = len(rows) // 3
    state = merge(facts(spark, rows[:cut]))
    assert verdicts(merge(state.unionByName(facts(spark, rows[cut:])))) == model


def test_a_stream_forgets_what_is_settled_but_not_that_it_was(spark):
    log = TransactionLog()
    for identity in ("open", "committed", "rolled back", "twice"):
        log.half(identity, checks=2)
    log.commit("committed")
    log.commit("twice")
    log.commit("twice")
    log.roll_back("rolled back")
    log.now_ms += 60_000
    log.half("new")
    log.commit("new")
    merged = merge(facts(spark, log.rows)).persist()
    # What a ledger still waits for stays.
    needed = merge(forget(merged, keep_ms=30_000, kept_keys=["key-rolled back"] * 2))
    assert sorted(remembered(needed)) == ["new", "open", "rolled back", "twice"]
    assert needed.where("identity = 'rolled back'").first().copies == 1
    state = merge(forget(merged, keep_ms=30_000)).persist()
    assert sorted(remembered(state)) == ["new", "open", "twice"]
    forgotten = state.where("role = 'forgotten'").collect()
    counts = [(row.identity, row.transactions, row.forgotten_checks) for row in forgotten]
    assert sorted(counts) == [("committed", 1, 2), ("rolled back", 1, 2)]
    # Its second commit names a half message that is known to have been settled.
    half = log.halves["committed"]
    log.rows.clear()
    log.commit("committed", half)
    found = verdicts(merge(state.unionByName(facts(spark, log.rows))))["broker-a"]
    assert found["committed"] == (Status.COMMITTED, [TransactionAnomaly.DECIDED_LATE])
    assert found["1"] == (None, [TransactionAnomaly.DECIDED_LATE])


def remembered(state):
    return [row.identity for row in state.where("role = 'transaction'").collect()]


def test_what_was_decided_for_a_topic_that_is_not_read_is_never_called_rolled_back(spark):
    """Neither while it is remembered nor later; and when the topic is read after a restart, that is no finding."""
    log = TransactionLog(topic="A")
    log.half("a")
    log.commit("a")
    log.topic = "B"
    for identity in ("b", "b open"):
        log.half(identity)
    unseen = log.visible("b")
    log.roll_back("b")
    log.rows.remove(unseen)
    log.now_ms += 60_000
    log.topic = "A"
    log.half("new")
    log.commit("new")

    def counts(merged, topics):
        summary = ReconciliationSummary(judge(merged, bounds_of(merged), OpQueue(), topics))
        return {status: count for status, (count, _) in summary.statuses.items()}, summary

    merged = merge(facts(spark, log.rows)).persist()
    assert counts(merged, ("A",))[0] == {Status.COMMITTED: 2, Status.NOT_READ: 2}
    state = merge(forget(merged, keep_ms=30_000, topics=("A",))).persist()
    assert sorted(remembered(state)) == ["b open", "new"]
    reported, summary = counts(state, ("A",))
    assert reported == {Status.COMMITTED: 2, Status.NOT_READ: 2}
    assert (summary.open_rows(0), summary.finding_count) == ([], 0)
    log.rows = [unseen]
    reported, summary = counts(merge(state.unionByName(facts(spark, log.rows))).persist(), ("A", "B"))
    assert reported == {Status.COMMITTED: 2, Status.NOT_READ: 1, Status.OPEN: 1}
    assert summary.finding_count == 0


def test_half_messages_were_read_until_the_newest_one_of_the_broker_that_is_behind(spark):
    ahead, behind, idle = (TransactionLog(broker_name=name) for name in ("ahead", "behind", "idle"))
    behind.half("t")
    behind.half("t2")
    idle.roll_back("t", {"queue_offset": 7})
    ahead.now_ms = 500
    ahead.half("t")
    # What is stored later, but is no half message, says nothing of half messages.
    behind.now_ms = 400
    behind.commit("t")
    bounds = bounds_of(merge(facts(spark, rows_of(ahead, behind, idle))).persist())
    assert halves_until_ms(bounds) == int(START.timestamp() * 1_000) + 2
    assert halves_until_ms(bounds.filter(pc.equal(bounds["broker_name"], "idle"))) == 0
