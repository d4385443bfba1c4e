"""Messages to channels: signed webhooks, Slack-compatible places, e-mail."""
