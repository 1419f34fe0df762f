"""The project's own JSON."""
