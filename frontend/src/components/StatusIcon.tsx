import type { ReactNode } from "react";
import type { Tier } from "../client/models";
import { cx } from "../core/cx";
import { useTranslation } from "../lib/text/useTranslation";
import classes from "./StatusIcon.module.css";

/** Appearance of a state. Icons differ in shape and color, so that color is never the only cue. */
export type Tone = "ok" | "warn" | "bad" | "busy" | "idle" | "off";

const GLYPHS: Record<Tone, ReactNode> = {
  ok: <circle cx="6" cy="6" r="4" />,
  warn: <path d="M6 1.2 11 10.4H1Z" />,
  bad: (
    <path d="M2.6 1.4 6 4.8l3.4-3.4 1.2 1.2L7.2 6l3.4 3.4-1.2 1.2L6 7.2l-3.4 3.4-1.2-1.2L4.8 6 1.4 2.6Z" />
  ),
  busy: <path d="M6 1.5A4.5 4.5 0 1 0 10.5 6H8.9A2.9 2.9 0 1 1 6 3.1Z" />,
  idle: (
    <circle
      cx="6"
      cy="6"
      r="3.5"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeDasharray="2.2 1.5"
    />
  ),
  off: <path d="M2 5.2h8v1.6H2Z" />,
};

export function StatusIcon({ tone, children, title }: { tone: Tone; children?: ReactNode; title?: string }) {
  return (
    <span className={cx(classes.mark, classes[tone])} title={title}>
      <svg
        viewBox="0 0 12 12"
        width="11"
        height="11"
        fill="currentColor"
        aria-hidden
        className={classes.glyph}
      >
        {GLYPHS[tone]}
      </svg>
      {children && <span>{children}</span>}
    </span>
  );
}

const TONES: Record<string, Tone> = {
  queued: "idle",
  running: "busy",
  ingesting: "busy",
  done: "ok",
  ready: "ok",
  works: "ok",
  ok: "ok",
  added: "ok",
  active: "ok",
  partial: "warn",
  degrades: "warn",
  degraded: "warn",
  incomplete: "warn",
  unreadable: "warn",
  timed_out: "warn",
  unknown: "idle",
  failed: "bad",
  unavailable: "bad",
  missing: "bad",
  refused: "bad",
  canceled: "off",
  expired: "off",
  skipped: "off",
  exists: "off",
  retired: "off",
};

export const chooseTone = (state: string): Tone => TONES[state] ?? "idle";

/** Render the icon and name of the state of a run, collector, check or row. */
export function RunStateIcon({ state }: { state: string }) {
  const { t } = useTranslation();
  return (
    <StatusIcon tone={chooseTone(state)}>
      {t(`state.${state}` as "state.done", { defaultValue: state })}
    </StatusIcon>
  );
}

/** Render the tier of a collector or plan. */
export function TierTag({ tier }: { tier: Tier }) {
  const { t } = useTranslation();
  return (
    <span className={cx(classes.tier, classes[tier])} title={t(`tier.${tier}.meaning`)}>
      {t(`tier.${tier}.name`)}
    </span>
  );
}

/** Render a small neutral tag, such as a label of a host or a kind of credential. */
export function Tag({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span className={classes.tag} title={title}>
      {children}
    </span>
  );
}
