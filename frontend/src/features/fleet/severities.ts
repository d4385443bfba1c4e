import type { Severity } from "./api";

/** Severities in ascending order. */
export const SEVERITIES: readonly (Severity | "none")[] = ["none", "info", "warn", "critical"];
