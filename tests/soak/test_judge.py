"""The soak's judge, fed with histories that somebody made up: it finds what went wrong, and nothing else."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from html import escape
from xml.etree import ElementTree as ET

import pytest

from tests.soak.history import GRACE_S, History, Kill, Sample
from tests.soak.judge import Judgement, Outcome, judge
from tests.soak.plan import make_plan
from tests.soak.report import write_report
from tests.soak.slope import common_slope
from tests.soak.streams import CPP, FLOOD, JAVA, PYTHON, STREAMS, Fate, Stream, StreamLedger, streams_of
from tests.soak.texts import LANGUAGES, sentence

ORDERLY = Stream("orderly", "orderly", PYTHON, PYTHON)
TRANSACTIONS = Stream("transactions", "transactions", PYTHON, PYTHON)
WARM_UP_S = 30.0


def sent(number, **fields):
    return {"event": "sent", "number": number, "status": 0, "ms": 1.0, **fields}


def message(number, queue=0, **fields):
    return {"event": "message", "number": number, "queue": queue, "offset": number, **fields}


def ledger_of(stream, *events, stored=()):
    ledger = StreamLedger(stream)
    for event in events:
        ledger.note(event)
    for number in stored:
        ledger.stored(number)
    return ledger


def good_ledger():
    events = [event for number in range(20) for event in (sent(number), message(number, queue=number % 4))]
    return ledger_of(ORDERLY, *events, stored=range(20))


def history_of(*ledgers, minutes=12, mib_per_hour=0.0, fds_per_hour=0.0, kills=(), seed=1):
    """A broker of 60 MiB and 50 descriptors that grows within each life, with an allocator's noise; a quick page."""
    chance = random.Random(seed)
    history = History(WARM_UP_S, list(ledgers) or [good_ledger()], loaded_s=minutes * 60.0, kills=list(kills))
    noise = 0.0
    for second in range(minutes * 60):
        noise = 0.9 * noise + chance.gauss(0, 0.3)
        life = sum(kill.at_s <= second for kill in kills)
        hours = (second - (kills[life - 1].at_s if life else 0)) / 3600
        mib, fds = 60 + mib_per_hour * hours + noise, round(50 + fds_per_hour * hours)
        history.samples.append(Sample(float(second), life, mib, mib + 100, fds, 10.0, 0, second, second))
        history.page_answers.append((float(second), 5.0 + second % 3))
        history.page_updates.append(float(second))
    return history


def outcomes(history):
    return {judgement.name: judgement.outcome for judgement in judge(history)}


def one(history, name) -> Judgement:
    return next(judgement for judgement in judge(history) if judgement.name == name)


def failed(history):
    return {name for name, outcome in outcomes(history).items() if outcome is Outcome.FAILED}


def test_a_good_run_passes_everything():
    assert set(outcomes(history_of()).values()) == {Outcome.PASSED}


def test_a_run_in_which_nothing_was_acknowledged_shows_nothing():
    assert failed(history_of(StreamLedger(ORDERLY))) >= {"nothing-lost", "all-consumed"}


def test_an_acknowledged_message_that_is_gone_is_found_by_its_number():
    ledger = ledger_of(ORDERLY, sent(0), message(0), sent(1), message(1), stored=[0])
    history = history_of(ledger)
    assert failed(history) == {"nothing-lost"}
    assert one(history, "nothing-lost").figures["examples"] == {"orderly": [1]}


def test_an_acknowledged_message_that_nobody_consumed_is_found():
    ledger = ledger_of(ORDERLY, sent(0), sent(1), message(1), stored=[0, 1])
    assert failed(history_of(ledger)) == {"all-consumed"}


def test_a_message_in_doubt_may_be_there_or_not():
    doubt = {"event": "failed", "number": 1, "error": "Timeout"}
    for stored in ([0], [0, 1]):
        ledger = ledger_of(ORDERLY, sent(0), message(0), doubt, sent(2, status=1), stored=stored)
        assert failed(history_of(ledger)) == set()
        assert ledger.in_doubt == 2


def test_a_message_behind_a_later_one_of_its_queue_is_found_and_in_another_queue_is_none():
    events = [sent(0), sent(1), sent(2), message(1), message(0), message(2, queue=1)]
    history = history_of(ledger_of(ORDERLY, *events, stored=range(3)))
    assert failed(history) == {"order-kept"}
    assert one(history, "order-kept").figures["examples"] == [("orderly", 0, 0, 1)]


def test_deliveries_that_begin_again_at_an_earlier_place_are_no_swap():
    events = [sent(0), sent(1), sent(2), *(message(number) for number in (0, 1, 0, 1, 2))]
    history = history_of(ledger_of(ORDERLY, *events, stored=range(3)))
    assert failed(history) == set()
    assert one(history, "all-consumed").figures["again"] == 2


def test_what_was_never_acknowledged_may_come_late():
    events = [sent(1), message(1), message(0)]
    assert failed(history_of(ledger_of(ORDERLY, *events, stored=range(2)))) == set()


def test_an_acknowledgement_that_is_read_after_its_delivery_counts_for_the_order():
    events = [sent(1), message(1), message(0), sent(0)]
    assert failed(history_of(ledger_of(ORDERLY, *events, stored=range(2)))) == {"order-kept"}


def test_a_message_that_was_rolled_back_and_consumed_is_found():
    events = [sent(0, rolled_back=True), sent(1), message(1)]
    assert failed(history_of(ledger_of(TRANSACTIONS, *events))) == set()
    assert failed(history_of(ledger_of(TRANSACTIONS, *events, message(0)))) == {"rollbacks-unseen"}


def test_a_refused_message_is_not_consumed_until_it_comes_again():
    refused = [sent(0), message(0, refused=True)]
    assert failed(history_of(ledger_of(ORDERLY, *refused, stored=[0]))) == {"all-consumed"}
    assert failed(history_of(ledger_of(ORDERLY, *refused, message(0), stored=[0]))) == set()


def test_a_flood_is_judged_by_what_is_stored():
    flood = StreamLedger(FLOOD)
    flood.note_run(0, 100, Fate.ACKNOWLEDGED)
    for number in range(100):
        flood.stored(number)
    assert failed(history_of(good_ledger(), flood)) == set()
    flood.note_run(100, 101, Fate.ACKNOWLEDGED)
    assert failed(history_of(good_ledger(), flood)) == {"nothing-lost"}


@pytest.mark.parametrize("kills", [(), (Kill(240.0, 2.0), Kill(480.0, 2.0))])
def test_a_leak_is_reported_and_noise_is_not(kills):
    leaking = history_of(minutes=30, mib_per_hour=300.0, fds_per_hour=200.0, kills=kills)
    assert failed(leaking) == {"memory-flat", "fds-flat"}
    assert failed(history_of(minutes=30, kills=kills)) == set()


def test_the_interval_of_a_slope_holds_the_truth_about_as_often_as_it_says():
    """The noise is correlated in time: an interval that does not know that holds the truth in four of five runs."""
    runs = 60
    held = 0
    for seed in range(runs):
        history = history_of(mib_per_hour=300.0, kills=[Kill(360.0, 2.0)], seed=seed)
        slope = common_slope(history.judged_lives("own_mib"))
        held += slope.low < 300 < slope.high
    assert held >= 0.85 * runs


def test_growth_in_a_warm_up_is_no_leak():
    history = history_of(kills=[Kill(240.0, 2.0)])
    history.samples = [
        sample
        if sample.at_s >= WARM_UP_S
        else Sample(sample.at_s, 0, 2 * sample.at_s, 2 * sample.at_s, 5, 0.0, 0, 0, 0)
        for sample in history.samples
    ]
    assert failed(history) == set()


def test_a_short_run_says_nothing_of_leaks():
    history = history_of(minutes=3, mib_per_hour=5_000.0)
    assert one(history, "memory-flat").outcome is Outcome.UNCERTAIN
    assert failed(history) == set()
    assert common_slope([]) is None
    assert common_slope([[(0.0, 1.0), (1.0, 2.0)]]) is None


def test_an_interval_that_is_too_wide_says_nothing():
    history = history_of(minutes=30, kills=[Kill(600.0, 2.0), Kill(1200.0, 2.0)])
    history.samples = [replace(sample, own_mib=1_000.0 if sample.at_s < 200 else 60.0) for sample in history.samples]
    history.samples = [replace(s, own_mib=600.0 if s.at_s > 1_700 else s.own_mib) for s in history.samples]
    judgement = one(history, "memory-flat")
    assert judgement.outcome is Outcome.UNCERTAIN
    assert "95 %" in sentence(judgement, "en") and "95 %" in sentence(judgement, "zh")


def test_too_much_memory_at_one_moment_is_found_in_any_run():
    history = history_of(minutes=1)
    history.samples.append(Sample(59.5, 0, 943.0, 1_000.0, 50, 10.0, 0, 0, 0))
    assert failed(history) == {"memory-bounded"}


def test_a_page_that_does_not_answer_is_found_but_not_while_the_broker_is_dead():
    kill = Kill(300.0, 3.0)
    history = history_of(kills=[kill])
    history.page_answers += [(kill.at_s + 1, None), (kill.at_s + kill.start_s + GRACE_S - 1, 9_000.0)]
    history.page_updates = [at_s for at_s in history.page_updates if not 300 <= at_s <= 312]
    assert failed(history) == set()
    history.page_answers.append((500.0, None))
    history.page_updates = [at_s for at_s in history.page_updates if not 400 <= at_s <= 420]
    assert failed(history) == {"page-answers", "live-page"}


def test_a_slow_page_is_found():
    history = history_of()
    history.page_answers = [(at_s, 2_500.0 if at_s % 20 == 0 else ms) for at_s, ms in history.page_answers]
    assert failed(history) == {"page-answers"}


def test_where_times_are_not_judged_a_slow_page_is_no_failure_and_a_silent_one_still_is():
    history = history_of()
    history.judges_times = False
    history.page_answers = [(at_s, 50_000.0) for at_s, _ in history.page_answers]
    history.page_updates = [0.0]
    outcomes = {judgement.name: judgement.outcome for judgement in judge(history)}
    assert (outcomes["page-answers"], outcomes["live-page"]) == (Outcome.UNCERTAIN, Outcome.UNCERTAIN)
    history.page_answers[7] = (7.0, None)
    history.page_updates = []
    outcomes = {judgement.name: judgement.outcome for judgement in judge(history)}
    assert (outcomes["page-answers"], outcomes["live-page"]) == (Outcome.FAILED, Outcome.FAILED)


def test_a_run_that_broke_off_is_no_good_run():
    history = history_of(ledger_of(ORDERLY, sent(0)))
    history.broke = "ProcessFailed: glassmq serve ended (1)"
    assert failed(history) == {"ran-through"}
    assert one(history, "ran-through").figures["examples"] == [history.broke]


def test_tracebacks_and_dead_clients_are_found():
    history = history_of()
    history.tracebacks.append("broker-0.log: KeyError: 'x'")
    history.ended_early.append("java-send (1): out of memory")
    assert failed(history) == {"no-traceback", "clients-alive"}


# --- plan, streams, report -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minutes", "kills"), [(1, 3), (3, 3), (60, 11), (600, 119)])
def test_kills_are_spread_over_the_run_and_the_disk_is_full_between_two(minutes, kills):
    plan = make_plan(minutes, None, seed=3)
    assert len(plan.kills_s) == kills
    assert list(plan.kills_s) == sorted(plan.kills_s)
    assert plan.kills_s[0] > 0 and plan.kills_s[-1] < plan.duration_s
    from_s, until_s = plan.disk_full_s
    assert not any(from_s <= kill_s <= until_s for kill_s in plan.kills_s)
    assert plan == make_plan(minutes, None, seed=3) != make_plan(minutes, None, seed=4)


def test_a_run_without_kills_still_fills_the_disk():
    plan = make_plan(10, 0, seed=1)
    assert plan.kills_s == ()
    assert 0 < plan.disk_full_s[0] < plan.disk_full_s[1] < plan.duration_s


def test_streams_of_clients_that_cannot_be_had_are_left_out_or_consumed_by_ours():
    assert streams_of({PYTHON, CPP, JAVA}) == list(STREAMS)
    ours = streams_of({PYTHON})
    assert {stream.kind for stream in ours} == {"concurrent", "orderly", "transactions", "retries", "batches"}
    assert {(stream.sender, stream.consumer) for stream in ours} == {(PYTHON, PYTHON)}


def test_the_report_is_whole_in_both_languages(tmp_path):
    history = history_of(good_ledger(), StreamLedger(FLOOD), kills=[Kill(240.0, 2.0)])
    history.disk_full = (400.0, 420.0)
    history.left_out.append("java: no `mvn` on this machine <&>")
    history.tracebacks.append("broker-0.log: <KeyError>")
    judgements = judge(history)
    write_report(tmp_path, history, judgements, {"minutes": 12})
    page = (tmp_path / "report.html").read_text("utf-8")
    for judgement in judgements:
        for language in LANGUAGES:
            assert escape(sentence(judgement, language)) in page
    assert "src=" not in page and "href=" not in page
    assert "<KeyError>" not in page and "&lt;KeyError&gt;" in page
    data = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [judgement["name"] for judgement in data["judgements"]] == [judgement.name for judgement in judgements]
    pictures = sorted((tmp_path / "plots").iterdir())
    assert {path.suffixes[0] for path in pictures} == {".en", ".zh"}
    for path in pictures:
        ET.fromstring(path.read_text("utf-8"))
