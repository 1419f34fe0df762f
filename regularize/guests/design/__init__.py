"""Metamodels, reduced models and workspaces."""
