"""URDF with all dialects of loops."""
