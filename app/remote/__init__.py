"""Access to a cluster over the wire, for the command line."""
