"""Independent coordinates, and dynamics in them alone."""
