"""An internal platform of a company: a gateway, builds, folders of teams, tokens and mail."""
