"""Remote procedure calls over the network of the runtime port: requests, replies, timeouts (RocketMQ:
``remoting.netty``).
"""
