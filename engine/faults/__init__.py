"""Faults at a node's door: rules that drop, delay, double, refuse, spoil or hold single frames of real clients."""
