"""Install packages: of the lock files, and missing tools of this machine."""
