"""Mechanisms in pictures: a page with the report, files, films."""
