"""Idempotent consumption: the work of a message is done once although the message is delivered more than once.

At-least-once delivery and an idempotent consumer together are what users call "exactly once". ``foundation`` has the
terms and the ports, ``stores`` the places for records, ``strategies`` the algorithms; ``idempotent_listener`` puts them
around a listener. RocketMQ leaves all of this to its users.
"""
