"""Commands that send, receive and show messages."""
