"""Joint reactions, self-stress, and changes of joint types that make a mechanism isostatic."""
