"""The same traffic in both stores: their files to the byte, and what it costs to find a message in them."""
