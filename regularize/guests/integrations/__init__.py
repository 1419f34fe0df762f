"""Closed loops inside other people's programs: pink's inverse kinematics, Crocoddyl's control."""
