"""The storage laboratory: RocketMQ's files and Kafka's files, side by side, on a page."""
