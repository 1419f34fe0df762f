"""Simulation on the manifold of closed loops."""
