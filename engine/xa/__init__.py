"""Two-phase commit after the X/Open model, to be seen beside transactional messages.

A protocol of our own over the engine's remoting: RocketMQ has no such thing. It is a teaching model, not an
implementation of the XA interface of any database: three processes play the three roles, and the messages between them
are those that textbooks draw. The roles have Seata's names; X/Open calls the application AP and the coordinator TM::

    TM  transaction manager      begins, says what belongs together, orders commit or rollback     (an application)
    TC  transaction coordinator  knows every global transaction and its branches, keeps the log     (one process)
    RM  resource manager         does its branch, locks what it touched, votes, obeys               (a bank each)

    TM -> TC  XA_BEGIN                      a global transaction, known by its xid
    TM -> RM  XA_ENLIST                     take part with this debit or credit; each RM in turn:
         RM -> TC  XA_REGISTER_BRANCH            it is part of the xid
    TM -> TC  XA_PREPARE_GLOBAL             phase one; all branches at the same time:
         TC -> RM  XA_PREPARE_BRANCH             lock, do it on trial, write it down, vote
    TM -> TC  XA_COMMIT_GLOBAL              phase two, or XA_ROLLBACK_GLOBAL; the decision is flushed, then:
         TC -> RM  XA_COMMIT_BRANCH              until each has acknowledged; or XA_ROLLBACK_BRANCH
    RM -> TC  XA_QUERY_DECISION             from one that voted yes and hears nothing

Between its yes and the decision a branch is *in doubt*: it may neither commit nor roll back by itself, and what it
locked stays locked, over crashes too. Presumed abort: a transaction that the coordinator knows no commit of is rolled
back, so only the decision to commit has to be durable before anybody hears of it.

Simplified: one branch per resource manager and transaction, one posting per branch, no read-only votes, no one-phase
commit, no heuristic decisions by an administrator, one coordinator.
"""
