"""The judge: gates from cheap to dear, each in one file, and the verdict with its evidence."""
