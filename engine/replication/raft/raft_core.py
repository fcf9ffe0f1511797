"""The decisions of one peer, without input and output (paper, figure 2; DLedger: ``DLedgerLeaderElector``,
``DLedgerEntryPusher``; in the style of etcd's raft).

Messages, time and proposals go in; what is to be done comes out as :class:`RaftOutput`, in this order: write, send,
apply. The core may be ahead of the disk: what it has accepted and not yet written has not been reported to anyone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from engine.replication.raft.errors import NotLeader, ProposalRefused
from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_log import EntryKind, RaftEntry, RaftLog
from engine.replication.raft.raft_messages import (
    Admission,
    AppendAnswer,
    AppendEntries,
    FoundingAnswer,
    FoundingQuestion,
    JoiningAnswer,
    RaftMessage,
    RequestVote,
    VoteAnswer,
    VoteVerdict,
)
from engine.replication.raft.raft_output import RaftFollowerProgress, RaftOutput
from engine.replication.raft.raft_role import RaftRole, RoleEvent, next_role
from engine.replication.raft.raft_rules import RaftConfig, RaftRules


class RaftCore:
    """Decide what a peer does next.

    :param voters: the group, unless the log says different; empty: wait until a leader adds it.
    :ivar voters: the voters in the last membership entry of the log, committed or not (paper, section 6).
    :ivar leader: the leader of this term as far as known, or empty.
    :ivar answers: answers of voters to this candidate, its own included.
    :ivar followers: what this leader knows about the other voters.
    :ivar due_ms: when :meth:`tick` is to be called.
    :ivar why_not_leading: why a former leader stepped down; otherwise empty.
    """

    def __init__(
        self,
        name: str,
        voters: Sequence[str],
        rules: RaftRules,
        config: RaftConfig,
        generator: random.Random,
        now_ms: int,
        saved: tuple[HardState, Sequence[RaftEntry]] = (HardState(), ()),
    ) -> None:
        self.name = name
        self.rules = rules
        self.config = config
        self.hard_state, entries = saved
        self.log = RaftLog(entries)
        self.role = RaftRole.JOINING if self.hard_state.joining else RaftRole.FOLLOWER
        self.leader = ""
        self.answers: dict[str, VoteVerdict] = {}
        self.followers: dict[str, RaftFollowerProgress] = {}
        self._first_voters = tuple(voters)
        #: Voters that were asked while this peer joins and answered that they are new, too.
        self._new_peers: dict[str, None] = {}
        self._random = generator
        self._output = RaftOutput()
        self._heard_leader_ms: int | None = None
        self._elected_ms = now_ms
        self.why_not_leading = ""
        #: For a leader: how long its own process was paused since it heard from a majority; for others: whether they
        #: have waited after a pause.
        self._stood_still_ms = 0
        self._has_waited = False
        self._read_membership()
        self._rearm(now_ms)
        if self.role is RaftRole.JOINING:
            self.due_ms = now_ms

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def term(self) -> int:
        """Return the present term."""
        return self.hard_state.term

    def _is_majority(self, names: Sequence[str]) -> bool:
        return 2 * sum(name in self.voters for name in names) > len(self.voters)

    def take_output(self) -> RaftOutput:
        """Return what is to be done since the last call."""
        output, self._output = self._output, RaftOutput()
        return output

    # --- inputs ------------------------------------------------------------------------------------------------------

    def tick(self, now_ms: int, late_ms: int = 0) -> None:
        """Handle the end of the timer, ``late_ms`` after it was due: a leader sends heartbeats, a joining member asks
        whether all are new, another voter stands for election.

        A tick that comes much too late means that this process was paused: messages have arrived meanwhile and are not
        read yet. So a leader does not count that time as the others' silence, and other roles read first.
        """
        stood_still = late_ms > self.config.heartbeat_ms
        if self.role is RaftRole.LEADER:
            self._stood_still_ms += late_ms if stood_still else 0
            if self.rules.checks_quorum and not self._hears_majority(now_ms):
                self._step_down(self.term, now_ms, why=self._silence(now_ms))
            else:
                for follower in self.followers:
                    self._replicate(follower, heartbeat=True)
                self._rearm(now_ms)
        elif self.role is RaftRole.JOINING:
            self._ask_whether_all_are_new(now_ms)
        elif stood_still and not self._has_waited and self.name in self.voters:
            self._has_waited = True
            self.due_ms = now_ms + self.config.heartbeat_ms
        else:
            if self.name in self.voters:
                self._campaign(now_ms, is_pre_vote=self.rules.pre_vote)
            self._rearm(now_ms)

    def sign_of_life(self, follower: str) -> AppendEntries:
        """Return a heartbeat that does not depend on anything this leader has yet to write."""
        matched = self.followers[follower].match_index
        committed = min(self.log.commit_index, matched)
        return AppendEntries(self.name, self.term, matched, self.log.term_at(matched), committed)

    def answer_of_life(self) -> AppendAnswer | JoiningAnswer:
        """Return an answer to a leader that acknowledges nothing."""
        return self._append_answer(matched=True, index=0)

    def receive(self, message: RaftMessage, now_ms: int) -> None:
        """Handle a message. Sender, order and duplicates do not matter. Raises
        :class:`~engine.replication.raft.errors.CommittedEntryConflict`.
        """
        is_question = (
            isinstance(message, FoundingQuestion)
            or (isinstance(message, RequestVote) and message.pre_vote)
            or (isinstance(message, VoteAnswer) and message.pre_vote and message.verdict == VoteVerdict.GRANTED)
        )
        if message.term > self.term and not is_question:
            self._step_down(message.term, now_ms, why=f"{message.sender} is in term {message.term}")
        match message:
            case RequestVote():
                self._answer_candidate(message, now_ms)
            case VoteAnswer():
                self._count_vote(message, now_ms)
            case AppendEntries():
                self._append(message, now_ms)
            case AppendAnswer() | JoiningAnswer():
                self._note_progress(message, now_ms)
            case Admission():
                self._take_admission(message, now_ms)
            case FoundingQuestion():
                self._answer_newcomer(message)
            case FoundingAnswer():
                self._note_newcomer(message, now_ms)

    def propose(self, data: bytes, kind: EntryKind = EntryKind.DATA) -> RaftEntry:
        """Append ``data`` to the log. Raises :class:`NotLeader`, :class:`ProposalRefused`."""
        if self.role is not RaftRole.LEADER:
            raise NotLeader(self.name, self.leader)
        if len(data) > self.config.entry_max_bytes:
            raise ProposalRefused(f"an entry has at most {self.config.entry_max_bytes} bytes, not {len(data)}")
        if self.log.last_index - self.log.commit_index >= self.config.uncommitted_max:
            raise ProposalRefused(f"{self.config.uncommitted_max} entries wait for a majority")
        return self._append_own(kind, data)

    def change_membership(self, voters: Sequence[str]) -> RaftEntry:
        """Add or remove one voter. Raises :class:`NotLeader`, :class:`ProposalRefused`.

        The old and the new majority then have a peer in common. The previous change must be committed, and so must an
        entry of this leader's own term (the thesis lacked that condition; the fault was found in 2015).
        """
        if self.role is not RaftRole.LEADER:
            raise NotLeader(self.name, self.leader)
        if len(set(voters) ^ set(self.voters)) != 1 or len(set(voters)) != len(voters) or not voters:
            raise ProposalRefused(f"one voter is added or removed at a time; they are {', '.join(self.voters)}")
        if self._membership_index > self.log.commit_index or self.log.term_at(self.log.commit_index) != self.term:
            raise ProposalRefused("the change before, or the leader's first entry, is not committed yet")
        members = [voter for voter in voters if voter == self.name or self._is_member(voter)]
        if 2 * len(members) <= len(voters):
            # A new voter may have to join, too; then nobody could ever be admitted.
            raise ProposalRefused(
                f"{', '.join(voters)} would have no majority without members that join or are new: only "
                f"{', '.join(members) or 'nobody'} would count"
            )
        return self.propose("\n".join(voters).encode(), EntryKind.MEMBERSHIP)

    def _is_member(self, name: str) -> bool:
        return name in self.followers and not self.followers[name].joining

    # --- election ----------------------------------------------------------------------------------------------------

    def _rearm(self, now_ms: int) -> None:
        config = self.config
        self._has_waited = False
        if self.role is RaftRole.LEADER:
            self.due_ms = now_ms + config.heartbeat_ms
        elif self.role is RaftRole.JOINING:
            self.due_ms = now_ms + config.election_timeout_min_ms
        else:
            self.due_ms = now_ms + self._random.randint(config.election_timeout_min_ms, config.election_timeout_max_ms)

    def _remember(self, term: int, voted_for: str) -> None:
        self.hard_state = self._output.hard_state = replace(self.hard_state, term=term, voted_for=voted_for)

    def _campaign(self, now_ms: int, *, is_pre_vote: bool) -> None:
        self.role = next_role(self.role, RoleEvent.ASK_FIRST if is_pre_vote else RoleEvent.STAND)
        self.leader = ""
        if not is_pre_vote:
            self._remember(self.term + 1, self.name)
        self.answers = {self.name: VoteVerdict.GRANTED}
        term = self.term + is_pre_vote
        request = RequestVote(self.name, term, self.log.last_index, self.log.last_term, int(is_pre_vote))
        self._output.messages += [(voter, request) for voter in self.voters if voter != self.name]
        self._look_at_votes(now_ms)

    def _answer_candidate(self, request: RequestVote, now_ms: int) -> None:
        verdict = self._verdict(request, now_ms)
        if verdict is VoteVerdict.GRANTED and not request.pre_vote:
            self._remember(self.term, request.sender)
            self._rearm(now_ms)
        term = request.term if verdict is VoteVerdict.GRANTED else self.term
        self._output.messages.append((request.sender, VoteAnswer(self.name, term, request.pre_vote, verdict)))

    def _verdict(self, request: RequestVote, now_ms: int) -> VoteVerdict:
        if request.term < self.term:
            return VoteVerdict.OLD_TERM
        if self.role is RaftRole.JOINING:
            return VoteVerdict.JOINING
        heard_ms = now_ms if self.role is RaftRole.LEADER else self._heard_leader_ms
        is_heard = heard_ms is not None and now_ms - heard_ms < self.config.election_timeout_min_ms
        if request.pre_vote and is_heard:
            return VoteVerdict.HEARS_LEADER
        if not request.pre_vote and self.hard_state.voted_for not in ("", request.sender):
            return VoteVerdict.VOTED_FOR_ANOTHER
        if self.rules.checks_log_is_up_to_date and self.log.is_behind(request.last_index, request.last_term):
            return VoteVerdict.LOG_BEHIND
        return VoteVerdict.GRANTED

    def _count_vote(self, answer: VoteAnswer, now_ms: int) -> None:
        asked = (RaftRole.PRE_CANDIDATE, self.term + 1) if answer.pre_vote else (RaftRole.CANDIDATE, self.term)
        is_granted = answer.verdict == VoteVerdict.GRANTED
        if self.role is asked[0] and (not is_granted or answer.term == asked[1]):
            self.answers[answer.sender] = VoteVerdict(answer.verdict)
            self._look_at_votes(now_ms)

    def _look_at_votes(self, now_ms: int) -> None:
        if not self._is_majority([name for name, verdict in self.answers.items() if verdict is VoteVerdict.GRANTED]):
            return
        if self.role is RaftRole.PRE_CANDIDATE:
            self._campaign(now_ms, is_pre_vote=False)
            return
        self.role = next_role(self.role, RoleEvent.WIN)
        self.leader = self.name
        self.followers = {}
        self._elected_ms, self._stood_still_ms, self.why_not_leading = now_ms, 0, ""
        self._append_own(EntryKind.NO_OP, b"")
        self._rearm(now_ms)

    def _step_down(self, term: int, now_ms: int, leader: str = "", why: str = "") -> None:
        if self.role is RaftRole.LEADER:
            self.why_not_leading = why
        self.role = next_role(self.role, RoleEvent.STEP_DOWN)
        self.leader = leader
        if term > self.term:
            self._remember(term, "")
        if self.followers or self.answers:
            self.followers, self.answers = {}, {}
            self._rearm(now_ms)

    def _hears_majority(self, now_ms: int) -> bool:
        since_ms = now_ms - self.config.election_timeout_max_ms
        if self._is_heard_since(since_ms):
            self._stood_still_ms = 0
            return True
        return self._is_heard_since(since_ms - self._stood_still_ms)

    def _is_heard_since(self, since_ms: int) -> bool:
        heard = [name for name, known in self.followers.items() if known.heard_ms > since_ms and not known.joining]
        return self._elected_ms > since_ms or self._is_majority([self.name, *heard])

    def _silence(self, now_ms: int) -> str:
        ago = ", ".join(f"{name} {now_ms - progress.heard_ms} ms ago" for name, progress in self.followers.items())
        return (
            f"it has lost contact with a majority: it last heard {ago}, and was itself paused for "
            f"{self._stood_still_ms} ms of that; allowed: {self.config.election_timeout_max_ms} ms"
        )

    # --- replication -------------------------------------------------------------------------------------------------

    def _append_own(self, kind: EntryKind, data: bytes) -> RaftEntry:
        entry = self.log.append(self.term, kind, data)
        self._write([entry])
        known = self.followers
        self.followers = {
            name: known.get(name) or RaftFollowerProgress(entry.index, 0, self._elected_ms)
            for name in self.voters
            if name != self.name
        }
        for follower in self.followers:
            self._replicate(follower)
        self._advance_commit()
        return entry

    def _write(self, entries: Sequence[RaftEntry]) -> None:
        first = entries[0].index
        kept = [entry for entry in self._output.entries if entry.index < first]
        self._output.entries = [*kept, *entries]
        if first <= self._membership_index or any(entry.kind is EntryKind.MEMBERSHIP for entry in entries):
            self._read_membership()

    def _read_membership(self) -> None:
        changes = (entry for entry in reversed(self.log.entries) if entry.kind is EntryKind.MEMBERSHIP)
        change = next(changes, None)
        self._membership_index = change.index if change else 0
        self.voters = tuple(change.data.decode().split("\n")) if change else self._first_voters

    def _replicate(self, follower: str, *, heartbeat: bool = False) -> None:
        progress = self.followers[follower]
        config = self.config
        room = progress.match_index + config.entries_ahead + 1 - progress.next_index
        count = max(0, min(config.entries_per_message, room))
        entries = self.log.slice(progress.next_index, count, config.message_max_bytes)
        if not entries and not heartbeat:
            return
        previous = progress.next_index - 1
        progress.next_index += len(entries)
        message = AppendEntries(
            self.name, self.term, previous, self.log.term_at(previous), self.log.commit_index, entries
        )
        self._output.messages.append((follower, message))

    def _append(self, request: AppendEntries, now_ms: int) -> None:
        if request.term < self.term:
            self._answer_leader(request.sender, matched=False, index=0)
            return
        if self.role not in (RaftRole.FOLLOWER, RaftRole.JOINING) or self.leader != request.sender:
            self._step_down(request.term, now_ms, request.sender)
        self._heard_leader_ms = now_ms
        self._rearm(now_ms)
        log, previous = self.log, request.previous_index
        is_matched = log.term_at(previous) == request.previous_term
        if is_matched:
            index = previous + len(request.entries)
            new = log.merge(request.entries)
            if new:
                self._write(new)
            self._commit(min(request.commit_index, index))
        else:
            # If an entry conflicts, all of its term do: one answer skips the term (paper, end of 5.3).
            index = log.last_index if previous > log.last_index else log.first_index_of_term_at(previous) - 1
        self._answer_leader(request.sender, matched=is_matched, index=index)

    def _answer_leader(self, leader: str, *, matched: bool, index: int) -> None:
        self._output.messages.append((leader, self._append_answer(matched=matched, index=index)))

    def _append_answer(self, *, matched: bool, index: int) -> AppendAnswer | JoiningAnswer:
        said = (self.name, self.term, int(matched), index)
        joining = self.hard_state.joining
        return JoiningAnswer(*said, joining) if joining else AppendAnswer(*said)

    def _note_progress(self, answer: AppendAnswer | JoiningAnswer, now_ms: int) -> None:
        progress = self.followers.get(answer.sender)
        if progress is None or answer.term < self.term:
            return
        progress.heard_ms = now_ms
        joining = answer.joining if isinstance(answer, JoiningAnswer) else 0
        if joining != progress.joining:
            progress.joining, progress.match_index, progress.admission_index = joining, 0, 0
        if answer.matched:
            progress.match_index = max(progress.match_index, min(answer.index, self.log.last_index))
            progress.next_index = max(progress.next_index, progress.match_index + 1)
            self._advance_commit()
        else:
            # Less than before: its folder is empty now, or the answer is an old one and newer ones follow.
            progress.match_index = min(progress.match_index, answer.index)
            progress.next_index = min(answer.index + 1, progress.next_index)
        if progress.joining:
            self._admit(answer.sender, progress)
        if answer.sender in self.followers:
            self._replicate(answer.sender)

    def _advance_commit(self) -> None:
        own = [self.log.last_index] if self.name in self.voters else []
        theirs = [0 if progress.joining else progress.match_index for progress in self.followers.values()]
        copies = sorted([*theirs, *own], reverse=True)
        index = copies[len(self.voters) // 2]
        if index > self.log.commit_index and (
            not self.rules.commits_only_own_term or self.log.term_at(index) == self.term
        ):
            self._commit(index)
            if self.name not in self.voters and self._membership_index <= index:
                # It has committed its own removal, and is done (paper, section 6).
                self._step_down(self.term, self._elected_ms, why="it is no longer a voter")

    def _commit(self, index: int) -> None:
        self._output.committed += self.log.commit(index)

    # --- joining -----------------------------------------------------------------------------------------------------
    #
    # A member that lost its state has forgotten votes and acknowledgements. It counts again after an entry that a
    # leader began after learning of the loss, and that a majority *without* the member has: none of these had a newer
    # term then, so no forgotten vote can elect anyone, and this leader has all that was committed before.

    def _admit(self, name: str, progress: RaftFollowerProgress) -> None:
        if not progress.admission_index:
            progress.admission_index = self._append_own(EntryKind.NO_OP, b"").index
        elif min(progress.match_index, self.log.commit_index) >= progress.admission_index:
            self._output.messages.append((name, Admission(self.name, self.term, progress.joining)))

    def _take_admission(self, admission: Admission, now_ms: int) -> None:
        known = (self.hard_state.joining, self.term)
        if self.role is RaftRole.JOINING and known == (admission.joining, admission.term):
            # Its vote of this term counts as given: it does not know to which candidate it gave it before.
            self._become_member(admission.sender, now_ms)

    def _become_member(self, voted_for: str, now_ms: int) -> None:
        self.role = next_role(self.role, RoleEvent.BE_ADMITTED)
        self.hard_state = self._output.hard_state = HardState(self.term, voted_for)
        self._rearm(now_ms)

    def _is_new(self) -> bool:
        """Return whether it has no entry and has lost none."""
        state = self.hard_state
        return not self.log.entries and (state.reason is JoinReason.NEW if state.joining else state.term == 0)

    def _ask_whether_all_are_new(self, now_ms: int) -> None:
        if self._is_new() and self.name in self._first_voters:
            question = FoundingQuestion(self.name, self.term, self.hard_state.joining)
            others = [voter for voter in self._first_voters if voter != self.name]
            self._output.messages += [(voter, question) for voter in others if voter not in self._new_peers]
            if len(self._new_peers) == len(others):
                # No peer has any entry: this is the group's first start.
                self._become_member(self.name if self.term else "", now_ms)
        self._rearm(now_ms)

    def _answer_newcomer(self, question: FoundingQuestion) -> None:
        answer = FoundingAnswer(self.name, self.term, question.joining, int(self._is_new()))
        self._output.messages.append((question.sender, answer))

    def _note_newcomer(self, answer: FoundingAnswer, now_ms: int) -> None:
        if self.role is RaftRole.JOINING and answer.joining == self.hard_state.joining and answer.is_new:
            self._new_peers[answer.sender] = None
            if len(self._new_peers) == len(self._first_voters) - 1:
                self._ask_whether_all_are_new(now_ms)
