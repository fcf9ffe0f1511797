"""The majority log, in DLedger's place: Raft (Ongaro and Ousterhout, "In Search of an Understandable Consensus
Algorithm", the paper; Ongaro, "Consensus: Bridging Theory and Practice", the thesis).

``raft_core`` decides and does no input or output; ``raft_store`` keeps term, vote and log in files; ``raft_peer`` lets
the two live on a node: it writes, then sends, then applies.

Simplified: no snapshots, so the log is kept whole and replayed from its beginning; one server is added or removed at a
time; no read index, so a reader proposes.
"""
