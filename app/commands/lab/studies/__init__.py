"""The studies of the lab, one file each: tables computed from runs."""
