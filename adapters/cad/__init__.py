"""Assemblies of CAD systems: marked frames, mates, relations."""
