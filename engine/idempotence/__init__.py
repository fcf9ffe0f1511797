"""Doing the work of a message once, although it is delivered more than once.

At least once and an idempotent consumer make what users call "exactly once". ``foundation`` has the words and the
ports, ``stores`` where records lie, ``strategies`` the ways; ``idempotent_listener`` puts them around a listener.
RocketMQ leaves all of it to its users.
"""
