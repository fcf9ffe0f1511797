"""Stores of records: a relational database, or Redis."""
