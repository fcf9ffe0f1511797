"""Raft, in place of DLedger (Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", the paper;
Ongaro, "Consensus: Bridging Theory and Practice", the thesis).

``raft_core`` decides and does no input or output; ``raft_store`` keeps term, vote and log in files; ``raft_peer`` runs
both on a node: it writes, then sends, then applies.

Simplifications: there are no snapshots, so the log is kept whole and replayed from its beginning; one server is added
or removed at a time; there is no read index, so a read is a proposal.
"""
