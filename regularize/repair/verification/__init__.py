"""What was written is read back, and compared as a machine with what was meant."""
