"""The job that advances a diagnosis by one stage."""

from __future__ import annotations

from culprit.automation.diagnosis_stages import advance_diagnosis
from culprit.jobs.analysis.queries import pending_diagnoses
from culprit.jobs.job import Job

JOB = Job("culprit.advance_diagnosis", "parse", advance_diagnosis, pending_diagnoses)
