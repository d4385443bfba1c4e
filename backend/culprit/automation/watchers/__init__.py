"""Watchers on hosts: look-back buffers, and captures that start when a condition holds."""
