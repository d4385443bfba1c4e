import { DataTable } from "../../../components/tables/DataTable";
import { findNearestIndex, medianStep } from "../../../core/charts/tracks";
import { useLocalized } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CitedSource } from "../../findings/CitationLink";
import type { PanelsBody, VisualFigure, VisualLabel, VisualMoment, VisualTrack } from "../api";
import { ChartValue } from "../ChartValue";
import shared from "../charts.module.css";
import classes from "./Panels.module.css";

/** Return reading `i` of a track with its source line, or null if there is no value. */
export function readFigure(track: VisualTrack, i: number): VisualFigure | null {
  const value = track.values[i];
  if (value === null || value === undefined) return null;
  const line = track.lines[i] ?? 0;
  return {
    value,
    unit: track.unit,
    citation: line > 0 ? { ...track.citation, lines: [line] } : track.citation,
  };
}

/** Render the values of all tracks at the cursor. */
export function CursorValues({ body, at, step }: { body: PanelsBody; at: number; step: number }) {
  const localize = useLocalized();
  const time = useTimeFormat();
  return (
    <dl className={classes.reading}>
      <div>
        <dt>{time.zoneName}</dt>
        <dd className="num">{time.time(at, Math.min(step, 1e8))}</dd>
      </div>
      {body.panels.flatMap((panel) => {
        const i = findNearestIndex(panel.t_ns, at, medianStep(panel.t_ns));
        const alone = panel.tracks.length + panel.related.length === 1;
        return [...panel.tracks, ...panel.related].map((track) => {
          const name = alone ? localize(panel.label) : `${localize(panel.label)}, ${localize(track.label)}`;
          return (
            <div key={`${panel.id} ${track.id}`}>
              <dt>{name}</dt>
              <dd className="num">
                <ChartValue figure={i >= 0 ? readFigure(track, i) : null} label={name} />
              </dd>
            </div>
          );
        });
      })}
    </dl>
  );
}

/** Render single numbers of the subject of the chart. */
export function PanelFacts({ facts }: { facts: PanelsBody["facts"] }) {
  const localize = useLocalized();
  if (facts.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {facts.map(([name, figure]) => (
        <div key={localize(name)}>
          <dt>{localize(name)}</dt>
          <dd className="num">
            <ChartValue figure={figure} label={localize(name)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Render events with their time and source line. */
export function MarkerList({ moments, from }: { moments: readonly VisualMoment[]; from: number }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const time = useTimeFormat();
  if (moments.length === 0) return null;
  return (
    <ul className={classes.moments}>
      {moments.map((visualMoment, i) => (
        <li key={i} data-critical={visualMoment.is_critical}>
          <span aria-hidden>✕ </span>
          <CitedSource place={visualMoment.citation} label={visualMoment.detail} className={shared.value}>
            <span className="num">{time.time(visualMoment.t_ns, 1e8)}</span> {localize(visualMoment.label)}
          </CitedSource>{" "}
          <span className="mono">{visualMoment.detail}</span>
          {visualMoment.t_ns < from && <span className="dim"> {t("visuals.before")}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Render parts as bars relative to the largest part. */
export function PartBars({ label, parts }: { label: VisualLabel; parts: PanelsBody["parts"] }) {
  const localize = useLocalized();
  if (parts.length === 0) return null;
  const top = Math.max(...parts.map((part) => part.figure.value), 1e-9);
  return (
    <table className={classes.parts}>
      <caption>{localize(label)}</caption>
      <tbody>
        {parts.map((part, i) => (
          <tr key={i}>
            <th scope="row">
              <span className="mono">{localize(part.label)}</span> <span className="dim">{part.about}</span>
            </th>
            <td className={classes.bar}>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
                <rect width={Math.max(1, (100 * part.figure.value) / top)} height="10" />
              </svg>
            </td>
            <td className="num">
              <ChartValue figure={part.figure} label={localize(part.label)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Render the readings of each panel as a table. */
export function PanelsTable({ body, label }: { body: PanelsBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const time = useTimeFormat();
  return (
    <>
      {body.panels.map((panel) => {
        const tracks = [...panel.tracks, ...panel.related];
        return (
          <DataTable key={panel.id} label={`${label}: ${localize(panel.label)}`} maxHeight={260}>
            <thead>
              <tr>
                <th>{t("visuals.time")}</th>
                {tracks.map((track) => (
                  <th key={track.id} className="right">
                    {tracks.length > 1
                      ? `${localize(panel.label)}, ${localize(track.label)}`
                      : localize(panel.label)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {panel.t_ns.map((at, i) => (
                <tr key={at}>
                  <td className="num">{time.time(at, 1e8)}</td>
                  {tracks.map((track) => (
                    <td key={track.id} className="right num">
                      <ChartValue figure={readFigure(track, i)} label={localize(track.label)} />
                    </td>
                  ))}
                </tr>
              ))}
              {panel.levels.map((level, i) => (
                <tr key={`level ${i}`}>
                  <td>{localize(level.label)}</td>
                  <td className="right num" colSpan={tracks.length}>
                    <ChartValue figure={level.figure} label={localize(level.label)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </DataTable>
        );
      })}
      <PanelFacts facts={body.facts} />
      <MarkerList moments={body.moments} from={body.from_ns} />
      <PartBars label={body.parts_label} parts={body.parts} />
    </>
  );
}
