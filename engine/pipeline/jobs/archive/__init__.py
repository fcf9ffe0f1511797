"""Exactly-once archive: topics as Parquet files by day, each business key once."""
