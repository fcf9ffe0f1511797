"""The cluster of a scenario in virtual time, and what can be done to it."""
