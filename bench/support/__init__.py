"""What several benchmarks use: a platform for one measurement, and captures of this host."""
