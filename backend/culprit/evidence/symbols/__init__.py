"""Symbol files, which map addresses in recordings to function names."""
