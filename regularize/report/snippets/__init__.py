"""A bad and a good piece of a model for every code, in the dialect of the user's file."""
