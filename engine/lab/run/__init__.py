"""A world stepped from outside: its commands, its past, its recording."""
