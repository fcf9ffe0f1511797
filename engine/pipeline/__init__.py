"""The data pipeline on Spark: a data source that reads and writes topics, and jobs made of it.

``source`` runs on Spark's executors and speaks RocketMQ's protocol to any broker; ``jobs`` runs in the driver. Nothing
here belongs to a node of the lab, so none of it uses a ``Runtime``: Spark provides clock, processes and files.
"""
