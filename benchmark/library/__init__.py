"""What vendor libraries make of the tasks: arms beside the baselines, judged alike, never linked into candidates."""
