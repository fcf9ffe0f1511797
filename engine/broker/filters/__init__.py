"""Which messages a subscription gets: tags, SQL92, bit maps."""
