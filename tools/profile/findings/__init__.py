"""The findings of the diagnosis, one file each."""
