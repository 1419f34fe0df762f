"""Shapes of bodies: meshes, solids of CAD systems, and mass properties from them."""
