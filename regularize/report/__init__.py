"""What is said of a mechanism: findings in the user's words, and the report that holds them."""
