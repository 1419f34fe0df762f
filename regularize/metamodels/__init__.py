"""Dynamics in actuator coordinates, and fast metamodels of it."""
