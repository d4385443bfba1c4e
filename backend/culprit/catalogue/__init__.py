"""What can be collected and what can be measured: collectors, plans, metrics."""
