"""Commands that send, receive and look at messages."""
