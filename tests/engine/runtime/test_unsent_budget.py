"""Which connections are cut when all together have too much unsent."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.unsent_budget import UnsentBudget

MIB = 1024 * 1024


@dataclass(eq=False)
class Peer:
    remote_address: str
    unsent_bytes: int = 0
    cut_reason: str | None = None

    def abort(self, reason):
        self.cut_reason = reason
        self.unsent_bytes = 0


def peers_with(budget, *sizes):
    peers = [Peer(f"10.0.0.{number}:1", size) for number, size in enumerate(sizes, 1)]
    for peer in peers:
        budget.count(peer)
    return peers


def names_of_cut(peers):
    return [peer.remote_address for peer in peers if peer.cut_reason]


def test_the_largest_goes_first_and_only_as_many_as_must(caplog):
    budget = UnsentBudget(100)
    peers = peers_with(budget, 20, 50, 10, 30)
    assert names_of_cut(peers) == ["10.0.0.2:1"]
    assert (budget.total_bytes, budget.cut_connections) == (60, 1)
    assert "10.0.0.2:1 is disconnected: it reads nothing, 50 bytes for it are unsent" in caplog.text
    assert "for all together 110 are, allowed: 100" in caplog.text


def test_one_that_reads_goes_after_all_that_do_not():
    budget = UnsentBudget(100)
    reader, *silent = peers_with(budget, 60, 20, 10)
    reader.unsent_bytes = 59
    late = peers_with(budget, 40)[0]
    assert names_of_cut([reader, *silent]) == []
    assert late.cut_reason is not None


def test_what_has_left_since_it_was_counted_cuts_nobody():
    budget = UnsentBudget(100)
    first, second = peers_with(budget, 60, 40)
    first.unsent_bytes = 10
    assert names_of_cut([first, second, *peers_with(budget, 50)]) == []
    assert budget.total_bytes == 100


def test_a_share_shrinks_to_nothing_as_room_does():
    budget = UnsentBudget(160 * MIB)
    assert budget.share_bytes == 4 * MIB
    peers = peers_with(budget, 144 * MIB)
    assert budget.share_bytes == MIB
    peers_with(budget, 16 * MIB)
    assert budget.share_bytes == 0
    budget.forget(peers[0])
    assert budget.share_bytes == 4 * MIB


def test_the_peak_is_reported_once():
    budget = UnsentBudget(100)
    (peer,) = peers_with(budget, 80)
    budget.forget(peer)
    assert budget.take_peak() == 80
    assert budget.take_peak() == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 120)), max_size=60))
def test_never_more_than_the_limit_is_counted_and_never_less_than_there_is(steps):
    budget = UnsentBudget(100)
    peers = [Peer(f"10.0.0.{number}:1") for number in range(10)]
    for number, unsent_bytes in steps:
        peer = peers[number]
        was, peer.unsent_bytes, peer.cut_reason = peer.unsent_bytes, unsent_bytes, None
        if unsent_bytes >= was:
            budget.count(peer)
        elif unsent_bytes == 0:
            budget.forget(peer)
        assert sum(other.unsent_bytes for other in peers) <= budget.total_bytes <= 100
