"""Two-phase commit in the X/Open model, for comparison with transactional messages.

It is a separate protocol over the engine's remoting, which RocketMQ does not have. It is a teaching model, not an
implementation of the XA interface of any database: three processes have the three roles, and the messages between them
are those in textbooks. The roles have Seata's names; X/Open calls the application AP and the coordinator TM::

    TM  transaction manager      begins, enlists participants, orders commit or rollback            (an application)
    TC  transaction coordinator  tracks every global transaction and its branches, keeps the log    (one process)
    RM  resource manager         runs its branch, locks its accounts, votes, follows the decision    (a bank each)

    TM -> TC  XA_BEGIN                      a global transaction, known by its xid
    TM -> RM  XA_ENLIST                     take part with this debit or credit; each RM in turn:
         RM -> TC  XA_REGISTER_BRANCH            join the xid
    TM -> TC  XA_PREPARE_GLOBAL             phase one; all branches at the same time:
         TC -> RM  XA_PREPARE_BRANCH             lock, try the work, record it durably, vote
    TM -> TC  XA_COMMIT_GLOBAL              phase two, or XA_ROLLBACK_GLOBAL; the decision is flushed, then:
         TC -> RM  XA_COMMIT_BRANCH              until each has acknowledged; or XA_ROLLBACK_BRANCH
    RM -> TC  XA_QUERY_DECISION             from a branch that voted yes and gets no decision

Between its yes vote and the decision a branch is *in doubt*: it may neither commit nor roll back by itself, and its
locks are kept, even across crashes. Presumed abort: a transaction without a recorded commit at the coordinator is
rolled back, so only the decision to commit has to be durable before it is sent.

Simplified: one branch per resource manager and transaction, one posting per branch, no read-only votes, no one-phase
commit, no heuristic decisions by an administrator, one coordinator.
"""
