/** Which renderer draws which kind of picture; the types refuse a kind that nobody draws. */
import type { ComponentType } from "react";
import type { BodyOf, VisualKind } from "../../client/visuals";
import { GaugesTable, GaugesView } from "./GaugesView";

/** `label` names the picture for those who do not see it. */
export interface Drawing<K extends VisualKind> {
  body: BodyOf<K>;
  label: string;
}

/** A picture, and the same numbers as a table. */
export interface Renderer<K extends VisualKind> {
  Picture: ComponentType<Drawing<K>>;
  Table: ComponentType<Drawing<K>>;
}

export const RENDERERS: { [K in VisualKind]: Renderer<K> } = {
  gauges: { Picture: GaugesView, Table: GaugesTable },
};
