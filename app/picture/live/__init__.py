"""The schema of what the live page asks for besides its state: faults, clients, and what they do."""
