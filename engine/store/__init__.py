"""The message store: commit log, consume queues and index in RocketMQ's file formats (RocketMQ: ``store``)."""
