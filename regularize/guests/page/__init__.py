"""Mechanisms in pictures: a page with the report, a bench to try changes at, files, films."""
