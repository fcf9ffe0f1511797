"""One module per command of ``glassmq``; each offers its click command as ``command``."""
