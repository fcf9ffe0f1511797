"""Replication of a broker's data to other machines."""
