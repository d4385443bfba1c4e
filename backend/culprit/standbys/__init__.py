"""What waits on hosts: rings that keep the minutes before an alert, and captures that start when something begins."""
