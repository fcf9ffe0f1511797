"""SQL92 expressions over a message's properties (RocketMQ: module ``filter``): grammar, checks, evaluation, bloom
filter.
"""
