"""Mechanisms with one freedom: the path that they move along, and motion along it."""
