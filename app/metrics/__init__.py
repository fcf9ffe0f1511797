"""``GET /metrics`` for Prometheus, with the names and labels of RocketMQ's exporter: its dashboards show this broker.

The exporter is a separate program that sends brokers some hundred requests a minute; here the broker is in this
process, and one sample in the engine's thread takes all numbers at one moment. ``docs/metrics.md`` lists them, and what
is left out.
"""
