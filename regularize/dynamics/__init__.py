"""Motion: the step in C, recorded programs, Pinocchio's models, simulation."""
