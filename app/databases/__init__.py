"""Real databases on this machine: started for a while, and what two sessions of them do to each other."""
