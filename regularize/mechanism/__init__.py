"""The one model that every reader produces, and its graph."""
