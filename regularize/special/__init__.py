"""Linkages that move for their special lengths, by name: exact joints near those of a loop."""
