"""Commands of the client, one module per noun. Each module adds its own with `register_commands`."""
