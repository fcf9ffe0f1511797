"""Checker: a consumer sees a transactional message only after its producer has answered "commit".

Anomaly: *ghost read*. A listener got a message before any call of the transaction listener had answered "commit" for
it, or one that was only answered with "rollback".

Fault model: any; but an administrator who commits by hand (``commit-half``) what no producer has committed breaks it,
and the checker reports it: that is the risk of the action. The claim follows from cause and effect: what makes a half
message visible is END_TRANSACTION, and the producer sends that after its listener has answered. RocketMQ promises no
more than this. It does deliver a message twice when END_TRANSACTION arrives twice, or when a late one and the answer to
a check-back both do; and a producer that answers "rollback" first and "commit" at a check-back has its message
delivered nevertheless.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_transactions
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.kinds.producer import TransactionWord


class NoHalfMessageConsumed(Checker):
    """Check that half messages are not consumed."""

    name = "no-half-message-consumed"
    anomaly = Anomaly.GHOST_READ
    applies = staticmethod(has_transactions)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Key of a message sent in a transaction -> its last answer so far.
        self._said: dict[str, str] = {}
        self._sends_read = 0
        self._answers_read = 0

    def consume_began(self, entry: ConsumeBegan) -> None:
        self._read_history()
        said = self._said.get(entry.key)
        if said is None or said == TransactionWord.COMMIT:
            return
        only_said = self.text("only_said", said=said)
        self.report_read(entry, only_said if said else self.text("nothing_said"))

    def _read_history(self) -> None:
        history, nodes = self.world.history, self.world.nodes
        for send in history.sends_invoked[self._sends_read :]:
            role = nodes[send.node]
            if role.sends_in_transactions(send.topic):
                self._said.setdefault(send.key, "")
        self._sends_read = len(history.sends_invoked)
        for answer in history.transactions_ended[self._answers_read :]:
            # A "commit" that was answered is final.
            if self._said.get(answer.key) != TransactionWord.COMMIT:
                self._said[answer.key] = answer.result
        self._answers_read = len(history.transactions_ended)
