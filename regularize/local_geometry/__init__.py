"""What configurations there are near one of them: motions, stresses, branches."""
