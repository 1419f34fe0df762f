"""Joint reactions, self-stress, and what would make a mechanism isostatic."""
