"""JSON as RocketMQ's clients write and read it."""
