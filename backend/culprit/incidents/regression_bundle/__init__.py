"""Write an incident as a test case for rules, without names."""
