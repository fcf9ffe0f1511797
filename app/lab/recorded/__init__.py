"""Recordings of real clients as scenarios of the lab."""
