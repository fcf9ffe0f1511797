"""What the page gets of banks: the open transaction, the balances that others see, the windows."""

from __future__ import annotations

from app.lab.foundation.bounds import MONEY_SERIES_SHOWN
from app.lab.views.money.bank_view import MoneyView
from app.lab.views.world_view import WorldView, view_of
from engine.lab.nodes.history import BankEntry
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.bank_scenarios import bank_run
from tests.support.lab.lab_scenarios import apply, run_to_ms, small


def bank_of(run: LabRun, node: str):
    return view_of(run)["nodes"][node]["bank"]


def test_an_open_debit_is_seen_by_its_own_connection_only():
    with bank_run(paying="duration_ms: 300") as run:
        run_to_ms(run, 1_200)
        bank = bank_of(run, "P1")
        assert (bank["name"], bank["account"], bank["way"], bank["opening"]) == ("ICBC", "A", "transaction", 1_000)
        assert (bank["balance"], bank["committed_balance"]) == (900, 1_000)
        assert bank["is_locked"]
        (action,) = bank["open"]
        assert (action["key"], action["amount"], action["doing"]) == ("t-0", 100, "debit")
        assert 1_000_000 < action["since_us"] < run.now_us
        assert [(row["key"], row["state"]) for row in bank["rows"]] == [("t-0", "open")]
        money = view_of(run)["money"]
        assert (money["debited"], money["in_flight"], money["windows"]) == (0, 0, [])


def test_the_window_is_that_between_the_two_commits():
    with bank_run(paying="duration_ms: 50") as run:
        run_to_ms(run, 900)
        apply(run, "drop-next", "P1->B1", frame="END_TRANSACTION")
        run_to_ms(run, 2_500)
        money = view_of(run)["money"]
        assert (money["debited"], money["credited"], money["in_flight"], money["open_count"]) == (300, 200, 100, 1)
        first, *_ = money["windows"]
        assert (first["key"], first["credited_us"]) == ("t-0", None)
        run_to_ms(run, 10_000)
        money = view_of(run)["money"]
        assert (money["in_flight"], money["open_count"]) == (0, 0)
        entries = {(entry.key, entry.doing): entry.time_us for entry in run.world.history.bank_entries}
        lengths = sorted(entries[f"t-{number}", "credit"] - entries[f"t-{number}", "debit"] for number in range(3))
        assert money["longest_us"] == lengths[-1] > 2_000_000
        assert money["median_us"] == lengths[1]
        assert money["series"][0] == [0, 0, 0, 0, 0]
        assert money["series"][-1][1:] == [300, 300, 0, 0]


def test_money_on_its_way_does_not_make_good_for_money_from_nowhere():
    """The debit of one transfer and the credit of another: the sums agree, the banks do not."""
    with bank_run("send-then-debit") as run:
        money = MoneyView(run.world)
        run_to_ms(run, 100)
        for bank, doing, key in (("ICBC", "debit", "x-1"), ("CCB", "credit", "x-0")):
            run.world.history.bank_entries.append(BankEntry(0, 1, "N", bank, "A", doing, key, 100, "committed", 0))
        view = money.build()
        assert (view["debited"], view["credited"]) == (100, 100)
        assert (view["in_flight"], view["from_nowhere"], view["open_count"]) == (100, 100, 2)
        assert view["series"] == [[0, 0, 0, 0, 0], [1, 100, 0, 100, 0], [1, 100, 100, 100, 100]]
        for bank, doing, key in (("ICBC", "debit", "x-0"), ("CCB", "credit", "x-1")):
            run.world.history.bank_entries.append(BankEntry(0, 2, "N", bank, "A", doing, key, 100, "committed", 0))
        assert money.build()["series"][-2:] == [[2, 200, 100, 100, 0], [2, 200, 200, 0, 0]]


def test_while_no_process_runs_the_disk_is_shown():
    with bank_run(paying="duration_ms: 300") as run:
        run_to_ms(run, 1_400)
        apply(run, "crash", "P1")
        bank = bank_of(run, "P1")
        assert (bank["balance"], bank["committed_balance"], bank["open"], bank["is_locked"]) == (900, 900, [], False)
        assert [row["key"] for row in bank["rows"]] == ["t-0"]


def test_before_its_process_has_started_a_bank_has_nothing_to_show():
    with bank_run() as run:
        bank = bank_of(run, "C1")
        assert (bank["balance"], bank["rows"]) == (None, [])
        assert bank["idempotent"] is True
        assert bank["way"] is None


def test_what_was_refused_and_what_was_ignored_is_reported():
    with bank_run("transaction", ("opening: 1000", "opening: 250")) as run:
        run_to_ms(run, 900)
        apply(run, "listener", "C1", result="later", duration_ms=10)
        run_to_ms(run, 3_000)
        (refused,) = bank_of(run, "P1")["refused"]
        assert (refused["key"], refused["doing"], refused["reason"]) == ("t-2", "debit", "overdraft")
        assert bank_of(run, "C1")["duplicates_ignored"] >= 1


def test_a_credit_that_is_made_again_is_open_until_its_commit():
    with bank_run(receiving="idempotent: false") as run:
        run_to_ms(run, 900)
        apply(run, "listener", "C1", result="later", duration_ms=400)
        times = []
        while not times or times[-1] != (2, "open"):
            run.step()
            rows = bank_of(run, "C1")["rows"]
            if rows and (not times or times[-1] != (rows[0]["times"], rows[0]["state"])):
                times.append((rows[0]["times"], rows[0]["state"]))
        assert times == [(1, "open"), (1, "committed"), (2, "open")]
        assert bank_of(run, "C1")["idempotent"] is False


def test_worlds_without_banks_have_no_money():
    with LabRun(small()) as run:
        run_to_ms(run, 1_000)
        view = view_of(run)
        assert view["money"] is None
        assert view["nodes"]["P1"]["bank"] is None
        assert view["nodes"]["C1"]["bank"] is None


def test_the_money_stays_the_same_object_while_nothing_moves():
    with LabRun(load_scenario("bank-naive")) as run:
        watcher = WorldView(run)
        run_to_ms(run, 1_500)
        first = watcher.build()["money"]
        run.step()
        assert watcher.build()["money"] is first
        run_to_ms(run, 3_000)
        assert watcher.build()["money"] is not first


def test_a_long_story_is_thinned_and_keeps_its_ends():
    with LabRun(load_scenario("bank-naive")) as run:
        view = MoneyView(run.world)
        entries = run.world.history.bank_entries
        count = MONEY_SERIES_SHOWN * 3
        for number in range(count):
            entries.append(BankEntry(number, number * 10, "P1", "ICBC", "A", "debit", f"k-{number}", 1, "committed", 0))
        series = view.build()["series"]
        assert len(series) <= MONEY_SERIES_SHOWN
        assert series[0] == [0, 0, 0, 0, 0]
        assert series[-1] == [(count - 1) * 10, count, 0, count, 0]
        assert series == sorted(series)
