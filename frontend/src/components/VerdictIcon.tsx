import type { ReactNode } from "react";
import type { StepVerdict } from "../client/models";
import { cx } from "../core/cx";
import classes from "./VerdictIcon.module.css";

/** Result of an evaluation. Each has its own icon and outline, so that color is never the only cue. */
export type VerdictState = "supports" | "weak" | "refutes" | "inconclusive" | "absent" | "context";

/** Icon of each verdict of a step. */
export const VERDICT_STATES: Record<StepVerdict, VerdictState> = {
  supports: "supports",
  refutes: "refutes",
  inconclusive: "inconclusive",
  not_collected: "absent",
};

const SHAPES: Record<VerdictState, ReactNode> = {
  supports: <circle cx="7" cy="7" r="5.5" fill="currentColor" />,
  weak: (
    <>
      <circle cx="7" cy="7" r="5" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M7 2a5 5 0 0 0 0 10Z" fill="currentColor" />
    </>
  ),
  refutes: (
    <>
      <circle cx="7" cy="7" r="4.8" fill="none" stroke="currentColor" strokeWidth="1.3" />
      <path d="M2.4 11.6 11.6 2.4" stroke="currentColor" strokeWidth="1.3" />
    </>
  ),
  inconclusive: (
    <circle
      cx="7"
      cy="7"
      r="4.9"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeDasharray="2.6 1.8"
    />
  ),
  absent: (
    <>
      <circle cx="7" cy="7" r="5.4" fill="none" stroke="currentColor" strokeWidth="1.1" />
      <path d="M7 4.2v5.6M4.2 7h5.6" stroke="currentColor" strokeWidth="1.3" />
    </>
  ),
  context: <path d="M7 2 12 7 7 12 2 7Z" fill="none" stroke="currentColor" strokeWidth="1.2" />,
};

/** Render the icon of a verdict. Its name must be in adjacent text or in `label`, for screen readers. */
export function VerdictIcon({ verdict, label }: { verdict: VerdictState; label?: string }) {
  return (
    <>
      <svg
        viewBox="0 0 14 14"
        width="14"
        height="14"
        className={cx(classes.sign, classes[verdict])}
        aria-hidden
      >
        {SHAPES[verdict]}
      </svg>
      {label && <span className="visually-hidden">{label}</span>}
    </>
  );
}
