"""The events of the scheduler: who ran, who waited for a CPU, and who woke whom."""
