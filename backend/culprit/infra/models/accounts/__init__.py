"""Tables of accounts, sessions, tokens, sign-in and the audit log."""
