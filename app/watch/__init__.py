"""Watches the live broker second by second: what it did over a day, and what is wrong with it now, in words.

Everything here is a pure function of what was looked at: the state of ``app/observation``, and its seconds.
"""
