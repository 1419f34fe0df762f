"""Mechanisms with closed loops as Pinocchio models, and the other way."""
