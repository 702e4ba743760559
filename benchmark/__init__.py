"""MSKernelBench: the tasks, what each one computes, and how results are scored."""
