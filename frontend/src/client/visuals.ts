/** Pictures of what a run brought home: each has a body of one kind, which one renderer draws. */

import type { Sentence } from "../core/words";

/** A name of ours in both languages, or a name from the host, which is data. */
export type VisualLabel = string | { en: string; zh: string };

export interface VisualCite {
  run: string;
  collector: string;
  artifact: string;
  part: string;
  lines: number[];
  profile: string;
  frame: string;
}

/** One number with its unit and the place that it was read from. */
export interface VisualFigure {
  value: number;
  unit: string;
  cite: VisualCite;
}

/** Numbers of one unit over time; null is no data, which is not zero. A line of 0 is not known. */
export interface VisualTrack {
  id: string;
  label: VisualLabel;
  unit: string;
  values: (number | null)[];
  lines: number[];
  cite: VisualCite;
}

export type VisualTone = "good" | "warn" | "bad" | "none";

export interface GaugesBody {
  kind: "gauges";
  value_says: VisualLabel;
  capacity_says: VisualLabel;
  rows: {
    id: string;
    label: VisualLabel;
    value: VisualFigure;
    capacity: VisualFigure | null;
    low: VisualFigure | null;
    tone: VisualTone;
    also: [VisualLabel, VisualFigure][];
  }[];
}

/** Further kinds are added here. */
export type VisualBody = GaugesBody;
export type VisualKind = VisualBody["kind"];
export type BodyOf<K extends VisualKind> = Extract<VisualBody, { kind: K }>;

export interface Visual {
  id: string;
  builder: string;
  title: { en: string; zh: string };
  /** How to read it. */
  says: { en: string; zh: string };
  subject: Record<string, string>;
  state: "ok" | "no_data";
  reason: Sentence | null;
  body: VisualBody | null;
  /** So much was not drawn because there was too much of it. */
  left_out: number;
  notes: Sentence[];
  /** The findings that it illustrates. */
  rules: string[];
  collectors: string[];
}

export interface RunVisuals {
  run_id: string;
  visuals: Visual[];
}
