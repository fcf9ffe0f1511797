"""Access control: signed requests, accounts with permissions, white addresses (RocketMQ: module ``acl``)."""
