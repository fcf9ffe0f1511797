"""The nodes of Kafka in a lab world, and what lies on the disk of its brokers."""
