"""Real databases on this machine: started temporarily, and what two sessions of them do to each other."""
