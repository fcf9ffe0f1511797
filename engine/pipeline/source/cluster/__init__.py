"""Connection to a cluster: addresses, accounts and requests."""
