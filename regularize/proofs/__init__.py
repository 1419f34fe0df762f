"""Proofs of a reduction in exact arithmetic, and their independent checker."""
