"""Measures about applications: requests, waits, pools and runtimes."""
