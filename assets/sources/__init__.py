"""Geometry of the example mechanisms, and the writer that turns it into URDF files."""
