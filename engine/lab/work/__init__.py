"""Stores that the listeners of a scenario use: databases, a Redis, remote services, all nodes of the network."""
