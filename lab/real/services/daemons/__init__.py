"""Servers that stand between services: caches, pools, name servers, receivers of logs and mail servers."""
