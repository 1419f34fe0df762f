"""Streams, files, processes and text that comes from outside."""
