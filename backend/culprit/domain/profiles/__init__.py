"""Trees, searches, comparisons and exports of profiles, and tables of scheduler delays."""
