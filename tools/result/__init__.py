"""What a finished run leaves behind: a folder that needs nothing of ours."""
