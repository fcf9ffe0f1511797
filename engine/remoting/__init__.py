"""Remote procedure calls over the network port: requests, replies, timeouts (RocketMQ: ``remoting.netty``)."""
