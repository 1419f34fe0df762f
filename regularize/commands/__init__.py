"""The verbs of the command line: each module adds its arguments and runs."""
