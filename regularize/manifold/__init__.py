"""Closing the loops of models that were saved open."""
