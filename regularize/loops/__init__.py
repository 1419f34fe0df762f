"""The configuration space of closed loops: kinematics, closing, following, local geometry."""
