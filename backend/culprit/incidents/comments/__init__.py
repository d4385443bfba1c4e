"""Comments of users on an incident and its parts."""
