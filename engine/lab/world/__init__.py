"""The cluster of a scenario in virtual time, and the commands for it."""
