"""The same messages into both stores, more and more of them, over more and more topics."""
