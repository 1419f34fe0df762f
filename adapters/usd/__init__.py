"""USD Physics stages."""
