"""Several replicas of each partition: one leads, the others fetch from it, a controller says who.

The article (seed 001) lets ZooKeeper choose the controller and keep its notes. Since Kafka 4.0 there is no ZooKeeper: a
quorum of controllers keeps them in a log of its own, ``__cluster_metadata``, by a kind of Raft (KRaft), and brokers
read that log as they read any other. Here the log is the same, but there is one controller; what a quorum does is shown
by :mod:`engine.replication.raft`. When the controller is away, everything stays as it was decided last.
"""
