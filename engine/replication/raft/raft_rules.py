"""Timeouts and bounds of a peer, and the rules of the protocol as switches.

A rule is switched off only to show its purpose: the lab's search then finds what breaks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftRules:
    """Rules of the protocol; each is on by default."""

    #: Paper, 5.4.1: a vote goes only to a candidate whose log is at least as up to date as the voter's.
    checks_log_is_up_to_date: bool = True
    #: Paper, 5.4.2: a leader counts copies only of entries of its own term; older ones are committed with them.
    commits_only_own_term: bool = True
    #: Paper, figure 2: term and vote are on the disk before the answer leaves.
    persists_vote_before_answering: bool = True
    #: Thesis, 9.6: a candidate asks whether it could win before it raises the term.
    pre_vote: bool = True
    #: Thesis, 6.2: a leader that hears from no majority for an election timeout steps down.
    checks_quorum: bool = True


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """Timeouts and bounds. Raises ``ValueError`` when a heartbeat could not arrive before the election timeout."""

    #: A third of the shortest election timeout, so that one or two lost heartbeats do not start an election (DLedger:
    #: 2,000).
    heartbeat_ms: int = 50
    #: Paper, 9.3: 150 to 300.
    election_timeout_min_ms: int = 150
    election_timeout_max_ms: int = 300
    #: Entries in one message, and their bytes; how many are sent ahead of a follower's answers.
    entries_per_message: int = 64
    message_max_bytes: int = 1_048_576
    entries_ahead: int = 256
    #: The longest entry: RocketMQ's longest message, and room for its fields.
    entry_max_bytes: int = 4_259_840
    #: Entries that a leader takes before older ones are committed.
    uncommitted_max: int = 1_000

    def __post_init__(self) -> None:
        if not self.heartbeat_ms < self.election_timeout_min_ms <= self.election_timeout_max_ms:
            raise ValueError(
                "heartbeat_ms must be less than election_timeout_min_ms, and that at most election_timeout_max_ms"
            )
