"""Fault injection at a node's network: rules that drop, delay, duplicate, reject, corrupt or hold single frames of real
clients.
"""
