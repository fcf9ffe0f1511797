"""A small broker that answers Kafka's clients; alone, it leads every partition."""
