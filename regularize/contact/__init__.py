"""Robots that stand: ground, joint limits and dry friction beside closed loops, in one step."""
