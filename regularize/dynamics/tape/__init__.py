"""Straight-line programs of scalars, and what they are written as."""
