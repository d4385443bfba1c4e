"""A frozen report as pages: HTML that needs nothing but itself, and Markdown. Pure; every text in it is hostile."""
