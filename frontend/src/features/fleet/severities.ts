import type { Severity } from "./api";

/** The mildest first. */
export const SEVERITIES: readonly (Severity | "none")[] = ["none", "info", "warn", "critical"];
