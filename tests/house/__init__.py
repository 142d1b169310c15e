"""Facts about the house itself: its commands, its demo cluster, its roles, its documents."""
