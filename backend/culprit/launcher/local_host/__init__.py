"""This machine as the first host: missing tools and a private sshd."""
