"""Faults that were held out until rounds of them were read to improve rules. They count as development since."""
