"""Renderers: one report, several forms."""
