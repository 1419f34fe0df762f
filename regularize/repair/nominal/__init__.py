"""The mechanism that was meant: the least change of a rounded geometry that lets it move."""
