"""Replication of partitions: one replica leads, the others fetch from it, and a controller decides which one leads.

The article (seed 001) lets ZooKeeper choose the controller and keep its notes. Since Kafka 4.0 there is no ZooKeeper: a
quorum of controllers keeps its decisions in a log of its own, ``__cluster_metadata``, by a variant of Raft (KRaft), and
brokers read that log like any other. Here the log is the same, but there is one controller;
:mod:`engine.replication.raft` shows what a quorum does. When the controller is down, everything stays as it decided
last.
"""
