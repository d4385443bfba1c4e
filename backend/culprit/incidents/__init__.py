"""Investigate incidents: symptom, evidence, causes, fixes and their verification.

It may import `analysis`, `captures`, `evidence`, `hosts`, `notifications` and every layer below.
"""
