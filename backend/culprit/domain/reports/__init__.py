"""Rendering of a frozen report as self-contained HTML and as Markdown. Pure; every text is untrusted."""
