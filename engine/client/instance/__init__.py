"""One client process: its connections, its routes, its requests to brokers and name servers."""
