"""``glassmq storage``: what the two storage layouts cost on this machine."""
