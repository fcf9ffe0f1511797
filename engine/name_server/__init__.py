"""The name server: which broker serves which topic (RocketMQ: module ``namesrv``)."""
