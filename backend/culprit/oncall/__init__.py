"""Who is on call, now and next: from rotations made here, from a calendar, or from PagerDuty.

Being on call gives nobody a right: whoever is called may do what their role allows.
"""
