"""Elections and replication of a Raft group in words: the steps of its peers, and their frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.faults.frame_meaning import Ends, MeaningWords, keys_text
from engine.lab.nodes.history import ElectionStep
from engine.lab.raft.raft_peer_node import RaftPeerNode, key_of
from engine.replication.raft.errors import RaftFrameRefused
from engine.replication.raft.raft_log import EntryKind
from engine.replication.raft.raft_messages import (
    Admission,
    AppendAnswer,
    AppendEntries,
    VoteAnswer,
    VoteVerdict,
    decode_message,
)
from engine.texts import Text

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld


def election_words(step: ElectionStep) -> Text:
    """Return what a peer has done in an election."""
    return Text(f"moment.raft.{step.what}", node=step.node, term=step.term, votes=step.votes, voters=step.voters)


def raft_words(frame: bytes, ends: Ends, world: ScenarioWorld) -> MeaningWords | None:
    """Return the words for a frame between peers that is sent now; None for what the peers repeat, and for requests of
    votes, which the candidate's step reports.
    """
    try:
        message = decode_message(frame[4:])
    except RaftFrameRefused:
        return None  # its bytes were changed
    match message:
        case VoteAnswer():
            return _vote(message, ends)
        case AppendEntries() if message.entries:
            keys = tuple(key_of(entry) for entry in message.entries)
            marked = tuple(key_of(entry) for entry in message.entries if entry.kind is EntryKind.DATA)
            text = Text("moment.raft.replicates", **ends.said, keys=keys_text(keys), term=message.term)
            return MeaningWords(text, marked)
        case AppendAnswer() if not message.matched:
            return MeaningWords(Text("moment.raft.does_not_match", **ends.said, index=message.index))
        case AppendAnswer() if _is_news(message, ends, world):
            return MeaningWords(Text("moment.raft.has", **ends.said, index=message.index))
        case Admission():
            return MeaningWords(Text("moment.raft.admits", **ends.said))
    return None


def _vote(answer: VoteAnswer, ends: Ends) -> MeaningWords:
    verdict = VoteVerdict(answer.verdict)
    if verdict is VoteVerdict.GRANTED:
        key = "moment.raft.would_vote" if answer.pre_vote else "moment.raft.votes"
        return MeaningWords(Text(key, **ends.said, term=answer.term))
    why = Text(f"moment.raft.why.{verdict.name.lower()}", **ends.said, term=answer.term)
    key = "moment.raft.would_not_vote" if answer.pre_vote else "moment.raft.refuses_vote"
    return MeaningWords(Text(key, **ends.said, why=why))


def _is_news(answer: AppendAnswer, ends: Ends, world: ScenarioWorld) -> bool:
    """Return whether the leader learns from the answer that the follower has more entries."""
    node = world.find(RaftPeerNode, ends.target)
    if node is None or node.peer is None:
        return False
    progress = node.peer.core.followers.get(ends.source)
    return progress is not None and answer.index > progress.match_index
