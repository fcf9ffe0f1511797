"""A broker's commit log on a Raft log (RocketMQ: ``DLedgerCommitLog`` on DLedger).

The leader appends to its own commit log first, as every broker does, and proposes the bytes; senders and consumers wait
until a majority has them. The others append what is committed, so their logs never hold what does not count, and are
the same byte by byte. DLedger gives up its log *as* the commit log and puts a header before every message; here the
commit log is RocketMQ's own, at the price of a second copy in ``raft/log``.
"""
