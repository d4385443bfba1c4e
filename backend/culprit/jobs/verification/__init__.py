"""Jobs that measure before and after a fix, compare both sides, and judge the fix."""
