"""Master and slave: the slave copies the master's commit log byte by byte (RocketMQ: package ``store.ha``)."""
