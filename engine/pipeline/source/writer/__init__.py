"""Rows become messages, sent once each."""
