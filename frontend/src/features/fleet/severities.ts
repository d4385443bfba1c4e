import type { Severity } from "../../client/types";

/** The mildest first. */
export const SEVERITIES: readonly (Severity | "none")[] = ["none", "info", "warn", "critical"];
