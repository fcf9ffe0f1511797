"""Measures the disk of this machine: reads in sequential and random order, three ways to send a file, the cost of a
flush.
"""
