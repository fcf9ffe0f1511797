"""The GlassMQ engine: a RocketMQ-style message broker, its name server and its clients.

Nothing below this package imports from ``app``. See ``docs/architecture.md`` for the map.
"""
