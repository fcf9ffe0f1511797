"""``glassmq storage``: what the two ways of storing cost on this machine."""
