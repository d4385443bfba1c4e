"""Rules about applications, databases and caches."""
