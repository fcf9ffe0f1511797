"""The requests and responses of Kafka's protocol that are supported here, each in one version."""
