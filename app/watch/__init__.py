"""Watches the live broker second by second: its history of a day, and its current problems, in words.

Everything here is a pure function of its input: the state of ``app/observation``, and its seconds.
"""
