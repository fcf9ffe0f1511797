"""The nodes of Kafka in a lab world, and the contents of its brokers' disks."""
