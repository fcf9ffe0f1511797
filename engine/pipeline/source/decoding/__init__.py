"""Decoding of stored messages into columns."""
