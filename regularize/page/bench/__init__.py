"""A bench for one model: its joints made other kinds, what follows, and the file saved."""
