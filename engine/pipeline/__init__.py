"""The data pipeline on Spark: a data source that reads and writes topics, and jobs made of it.

``source`` travels to Spark's executors and speaks RocketMQ's protocol to any broker; ``jobs`` runs in the driver.
Nothing here belongs to a node of the lab, so none of it goes through a ``Runtime``: Spark brings clock, processes and
files.
"""
