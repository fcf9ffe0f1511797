"""A small broker that answers Kafka's clients: one node, which leads every partition."""
