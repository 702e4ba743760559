"""The process that runs one candidate: a C++ host program and its client."""
