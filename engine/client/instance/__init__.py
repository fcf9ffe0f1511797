"""One client process: its connections, its routes, its questions to brokers and name servers."""
