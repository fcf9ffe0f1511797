"""The broker: one file per request processor and per service, named by RocketMQ's terms."""
