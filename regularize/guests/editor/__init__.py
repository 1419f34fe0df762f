"""Where people type: findings, repairs and tables for editors, as a language server."""
