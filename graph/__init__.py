"""The state machine: build, start, resume, answer, checkpoints."""
