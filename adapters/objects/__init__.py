"""Objects of other libraries in memory: read as they are, and made anew where they are fixed."""
