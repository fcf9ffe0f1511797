"""Backlog relief: less important messages are stored while a group lags far behind, and are sent later, in order."""
