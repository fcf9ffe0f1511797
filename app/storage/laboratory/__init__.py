"""The same traffic in both stores: their files to the byte, and the cost of finding a message in them."""
