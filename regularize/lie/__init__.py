"""Screws, subspaces and subalgebras of se(3), and words for them."""
