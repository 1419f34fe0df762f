"""Engines: a table of what each holds, and models moved in them before and after a change."""
