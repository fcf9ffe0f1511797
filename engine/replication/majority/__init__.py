"""A broker's commit log on top of a Raft log (RocketMQ: ``DLedgerCommitLog`` on DLedger).

The leader appends to its own commit log first, as every broker does, and proposes the bytes; senders and consumers wait
until a majority has them. Followers append only what is committed, so their logs never hold uncommitted bytes, and all
logs are the same byte by byte. DLedger uses its own log *as* the commit log and puts a header before every message;
here the commit log keeps RocketMQ's format, at the price of a second copy in ``raft/log``.
"""
