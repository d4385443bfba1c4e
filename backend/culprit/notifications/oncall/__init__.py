"""On call, now and next: from rotations, from an iCalendar, or from PagerDuty.

Being on call grants no permission; permissions follow from the role.
"""
