"""Backlog relief: what matters less is stored while a group is far behind, and sent later, in order."""
