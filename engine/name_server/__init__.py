"""The name server, which knows the topics of each broker (RocketMQ: module ``namesrv``)."""
