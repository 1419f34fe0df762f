"""Kinematics and dynamics of trees with loops from tables: one C99 source, compiled or exported."""
