"""Onshape assembly definitions."""
