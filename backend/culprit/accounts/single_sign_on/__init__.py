"""Single sign-on: OpenID Connect, authorization code with PKCE, roles by group."""
