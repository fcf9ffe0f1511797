"""The parts of a picture that only a lab world has: its nodes, actors, faults, and what clients do in it."""
