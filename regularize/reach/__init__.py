"""Where a parallel robot can go, and how far from its singularities and its joints' limits."""
