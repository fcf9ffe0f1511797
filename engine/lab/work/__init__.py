"""What the listeners of a scenario work with: databases, a Redis, services behind calls, all nodes of the network."""
