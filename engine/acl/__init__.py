"""Who may do what: signed requests, accounts with permissions, white addresses (RocketMQ: module ``acl``)."""
