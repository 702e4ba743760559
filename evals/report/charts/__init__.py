"""The charts of a report, one file each."""
