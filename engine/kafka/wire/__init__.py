"""The requests and responses of Kafka's protocol that are spoken here, each in one version."""
