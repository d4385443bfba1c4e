"""Jobs of watchers: their sessions on hosts and the captures that they start."""
