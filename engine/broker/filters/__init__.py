"""Filters of subscriptions: tags, SQL92, bit maps."""
