"""What a report looks like: text, lines for other programs, a table of many models."""
