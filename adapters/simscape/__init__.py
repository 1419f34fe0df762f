"""Simscape Multibody import XML."""
