import { useTranslation } from "react-i18next";
import type { PanelsBody, VisualMoment } from "../../client/hostVisuals";
import type { VisualFigure, VisualLabel, VisualTrack } from "../../client/visuals";
import { Grid } from "../../components/Grid";
import { nearest, usualStep } from "../../core/lanes";
import { usePick } from "../../lib/i18n";
import { useTimeFormat } from "../../lib/useFormat";
import { Cited } from "../findings/Place";
import classes from "./Panels.module.css";
import { Value } from "./Value";
import shared from "./Visuals.module.css";

/** One reading of a track with the line that it was read from. */
export function figureAt(track: VisualTrack, i: number): VisualFigure | null {
  const value = track.values[i];
  if (value === null || value === undefined) return null;
  const line = track.lines[i] ?? 0;
  return { value, unit: track.unit, cite: line > 0 ? { ...track.cite, lines: [line] } : track.cite };
}

/** What all tracks say at the cursor. */
export function Reading({ body, at, step }: { body: PanelsBody; at: number; step: number }) {
  const pick = usePick();
  const time = useTimeFormat();
  return (
    <dl className={classes.reading}>
      <div>
        <dt>{time.zoneName}</dt>
        <dd className="num">{time.time(at, Math.min(step, 1e8))}</dd>
      </div>
      {body.panels.flatMap((panel) => {
        const i = nearest(panel.t_ns, at, usualStep(panel.t_ns));
        const alone = panel.tracks.length + panel.beside.length === 1;
        return [...panel.tracks, ...panel.beside].map((track) => {
          const name = alone ? pick(panel.label) : `${pick(panel.label)}, ${pick(track.label)}`;
          return (
            <div key={`${panel.id} ${track.id}`}>
              <dt>{name}</dt>
              <dd className="num">
                <Value figure={i >= 0 ? figureAt(track, i) : null} label={name} />
              </dd>
            </div>
          );
        });
      })}
    </dl>
  );
}

/** Single numbers of the same thing. */
export function Facts({ facts }: { facts: PanelsBody["facts"] }) {
  const pick = usePick();
  if (facts.length === 0) return null;
  return (
    <dl className={classes.facts}>
      {facts.map(([name, figure]) => (
        <div key={pick(name)}>
          <dt>{pick(name)}</dt>
          <dd className="num">
            <Value figure={figure} label={pick(name)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** What happened, with the line that says so; what was before the first reading says when. */
export function Moments({ moments, from }: { moments: readonly VisualMoment[]; from: number }) {
  const { t } = useTranslation();
  const pick = usePick();
  const time = useTimeFormat();
  if (moments.length === 0) return null;
  return (
    <ul className={classes.moments}>
      {moments.map((one, i) => (
        <li key={i} data-grave={one.grave}>
          <span aria-hidden>✕ </span>
          <Cited
            place={one.cite}
            label={`${time.time(one.t_ns, 1e8)} ${pick(one.label)} ${one.detail}`}
            className={shared.value}
          >
            <span className="num">{time.time(one.t_ns, 1e8)}</span> {pick(one.label)}
          </Cited>{" "}
          <span className="mono">{one.detail}</span>
          {one.t_ns < from && <span className="dim"> {t("visuals.before")}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Shares of something, the largest first, as bars. */
export function Parts({ says, parts }: { says: VisualLabel; parts: PanelsBody["parts"] }) {
  const pick = usePick();
  if (parts.length === 0) return null;
  const top = Math.max(...parts.map((one) => one.figure.value), 1e-9);
  return (
    <table className={classes.parts}>
      <caption>{pick(says)}</caption>
      <tbody>
        {parts.map((one, i) => (
          <tr key={i}>
            <th scope="row">
              <span className="mono">{pick(one.label)}</span> <span className="dim">{one.about}</span>
            </th>
            <td className={classes.bar}>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden>
                <rect width={Math.max(1, (100 * one.figure.value) / top)} height="10" />
              </svg>
            </td>
            <td className="num">
              <Value figure={one.figure} label={pick(one.label)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Every reading of every panel, panel by panel. */
export function PanelsTable({ body, label }: { body: PanelsBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const time = useTimeFormat();
  return (
    <>
      {body.panels.map((panel) => {
        const tracks = [...panel.tracks, ...panel.beside];
        return (
          <Grid key={panel.id} label={`${label}: ${pick(panel.label)}`} maxHeight={260}>
            <thead>
              <tr>
                <th>{t("visuals.time")}</th>
                {tracks.map((one) => (
                  <th key={one.id} className="right">
                    {tracks.length > 1 ? `${pick(panel.label)}, ${pick(one.label)}` : pick(panel.label)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {panel.t_ns.map((at, i) => (
                <tr key={at}>
                  <td className="num">{time.time(at, 1e8)}</td>
                  {tracks.map((one) => (
                    <td key={one.id} className="right num">
                      <Value figure={figureAt(one, i)} label={pick(one.label)} />
                    </td>
                  ))}
                </tr>
              ))}
              {panel.levels.map((one, i) => (
                <tr key={`level ${i}`}>
                  <td>{pick(one.label)}</td>
                  <td className="right num" colSpan={tracks.length}>
                    <Value figure={one.figure} label={pick(one.label)} />
                  </td>
                </tr>
              ))}
            </tbody>
          </Grid>
        );
      })}
      <Facts facts={body.facts} />
      <Moments moments={body.moments} from={body.from_ns} />
      <Parts says={body.parts_say} parts={body.parts} />
    </>
  );
}
