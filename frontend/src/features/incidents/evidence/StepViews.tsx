import { useTranslation } from "react-i18next";
import type { HostAnswer } from "../../client/incidents";
import type { Cited } from "../../client/types";
import { ButtonLink, Link } from "../../components/Link";
import { formatRange, padded } from "../../core/range";
import { useRun } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { CitedLines } from "../../renderers/artifact/CitedLines";
import { CitedRows } from "../../renderers/artifact/CitedRows";
import { ProfileGlance } from "../../renderers/flame/ProfileGlance";
import { Visuals } from "../../renderers/visuals/Visuals";
import classes from "./Evidence.module.css";

const MOST = 2;

/** The places of an answer, each artifact once, with all of its lines. */
function placesOf(answer: HostAnswer): Cited[] {
  const out = new Map<string, Cited>();
  for (const one of answer.findings.flatMap((each) => each.numbers.flatMap((number) => number.citations))) {
    if (!one.artifact || !one.lines || one.lines.length === 0) continue;
    const known = out.get(one.artifact);
    out.set(one.artifact, known ? { ...known, lines: [...(known.lines ?? []), ...one.lines] } : one);
  }
  return [...out.values()];
}

/** The ways to see for oneself what a step rests on: its run, the time of it, the flame graph, rows, raw lines. */
export function StepViews({ answer }: { answer: HostAnswer }) {
  const { t } = useTranslation();
  const names = useNames();
  const run = useRun(answer.run_id ?? "").data;
  const places = placesOf(answer);
  const drawn = answer.findings
    .flatMap((one) => one.numbers.flatMap((number) => number.citations))
    .find((one) => one.profile);
  const rules = [...new Set(answer.findings.map((one) => one.rule))];
  const from = run?.started_at ? Date.parse(run.started_at) * 1e6 : undefined;
  const to = run?.ended_at ? Date.parse(run.ended_at) * 1e6 : undefined;
  return (
    <div className={classes.views}>
      {run && (
        <p className={classes.viewLinks}>
          {from !== undefined && to !== undefined && (
            <ButtonLink
              size="compact-xs"
              variant="default"
              to="."
              search={
                ((before: Record<string, string>) => ({
                  ...before,
                  t: formatRange(padded({ from, to }, 0.15)),
                })) as never
              }
              resetScroll={false}
            >
              {t("incidents.views.time")}
            </ButtonLink>
          )}
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            {t("incidents.views.run", { number: run.capture.number })}
          </Link>
          {run.profiles
            .filter((one) => one.state === "ready" && one.kind !== "sched")
            .map((one) => (
              <Link key={one.id} to="/profiles/$profileId" params={{ profileId: one.id }}>
                {t("run.flame", {
                  kind: t(`profile.kind.${one.kind}` as "profile.kind.on_cpu", { defaultValue: one.kind }),
                })}
              </Link>
            ))}
          {run.tables.length > 0 && (
            <Link to="/runs/$runId" params={{ runId: run.id }}>
              {t("incidents.views.tables", { count: run.tables.length })}
            </Link>
          )}
        </p>
      )}
      {rules.length > 0 && run && <Visuals runId={run.id} findings={rules} beside />}
      {drawn && <ProfileGlance key={drawn.profile} profile={drawn.profile ?? ""} frame={drawn.frame ?? ""} />}
      {run?.tables.map((table) => {
        const lines = places.find((one) => one.artifact === table.artifact_id)?.lines;
        return lines && <CitedRows key={`${table.kind}${table.artifact_id}`} table={table} lines={lines} />;
      })}
      {places.slice(0, MOST).map((one) => (
        <CitedLines
          key={one.artifact}
          artifact={one.artifact ?? ""}
          lines={one.lines ?? []}
          name={[names.collector(one.collector ?? ""), one.part].filter(Boolean).join(" · ")}
          run={one.run}
        />
      ))}
    </div>
  );
}
