"""What can be deleted: each package here may go, and everything else works."""
