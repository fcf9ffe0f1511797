"""Views of the nodes and frames of Kafka."""
