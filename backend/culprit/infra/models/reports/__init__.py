"""Tables of reports, their versions, share links and visits."""
