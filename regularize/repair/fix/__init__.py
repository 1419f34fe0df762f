"""The user's own model files, changed as little as possible: plan, patch, verify, put in place."""
