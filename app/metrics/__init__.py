"""``GET /metrics`` for Prometheus, with the names and labels of RocketMQ's exporter: its dashboards show this broker.

The exporter is a program of its own that asks brokers some hundred questions a minute; here the broker is in this
process, and one look in the engine's thread takes all numbers at one moment. ``docs/metrics.md`` lists them, and what
is left out.
"""
