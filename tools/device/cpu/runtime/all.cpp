// The runtime library in one translation unit.
#include "scheduler.cpp"
#include "memory.cpp"
#include "api.cpp"
#include "counters.cpp"
#include "tracer.cpp"
