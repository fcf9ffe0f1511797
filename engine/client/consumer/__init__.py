"""Push and pull consumers, their services, and their replies to brokers."""
