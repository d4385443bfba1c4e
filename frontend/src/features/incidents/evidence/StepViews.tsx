import { lazy } from "react";
import { ButtonLink, Link } from "../../../components/Link";
import { NearViewport } from "../../../components/NearViewport";
import type { Search } from "../../../core/search";
import { formatRange, padRange } from "../../../core/time/range";
import { useRun } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CitedLines } from "../../../widgets/artifact-lines/CitedLines";
import { CitedRows } from "../../../widgets/artifact-lines/CitedRows";
import type { Cited, HostAnswer } from "../api";
import classes from "./Evidence.module.css";

const RunCharts = lazy(() =>
  import("../../../widgets/charts/RunCharts").then((m) => ({ default: m.RunCharts })),
);
const ProfilePreview = lazy(() =>
  import("../../../widgets/flame-graph/ProfilePreview").then((m) => ({ default: m.ProfilePreview })),
);

const MAX_VIEWS = 2;
/** Heights in px of the skeletons of charts and of a flame graph. */
const CHARTS_PX = 240;
const PREVIEW_PX = 240;

/** Return the cited artifacts of an answer, each once with all its cited lines. */
function listStepViews(answer: HostAnswer): Cited[] {
  const out = new Map<string, Cited>();
  for (const source of answer.findings.flatMap((each) =>
    each.numbers.flatMap((number) => number.citations),
  )) {
    if (!source.artifact || !source.lines || source.lines.length === 0) continue;
    const known = out.get(source.artifact);
    out.set(source.artifact, known ? { ...known, lines: [...(known.lines ?? []), ...source.lines] } : source);
  }
  return [...out.values()];
}

/** Evidence of a step: links to run, time range and profiles; charts, flame graph, cited rows and artifact lines. */
export function StepViews({ answer }: { answer: HostAnswer }) {
  const { t } = useTranslation();
  const names = useNames();
  const run = useRun(answer.run_id ?? "").data;
  const places = listStepViews(answer);
  const profileCitation = answer.findings
    .flatMap((finding) => finding.numbers.flatMap((number) => number.citations))
    .find((source) => source.profile);
  const rules = [...new Set(answer.findings.map((finding) => finding.rule))];
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
              search={(before: Search): Search => ({
                ...before,
                t: formatRange(padRange({ from, to }, 0.15)),
              })}
              resetScroll={false}
            >
              {t("incidents.views.time")}
            </ButtonLink>
          )}
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            {t("incidents.views.run", { number: run.capture.number })}
          </Link>
          {run.profiles
            .filter((profile) => profile.state === "ready" && profile.kind !== "sched")
            .map((profile) => (
              <Link key={profile.id} to="/profiles/$profileId" params={{ profileId: profile.id }}>
                {t("run.flame", {
                  kind: t(`profile.kind.${profile.kind}` as "profile.kind.on_cpu", {
                    defaultValue: profile.kind,
                  }),
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
      {rules.length > 0 && run && (
        <NearViewport height={CHARTS_PX}>
          <RunCharts runId={run.id} findings={rules} isRelated />
        </NearViewport>
      )}
      {profileCitation && (
        <NearViewport key={profileCitation.profile} height={PREVIEW_PX}>
          <ProfilePreview profile={profileCitation.profile ?? ""} frame={profileCitation.frame ?? ""} />
        </NearViewport>
      )}
      {run?.tables.map((table) => {
        const lines = places.find((source) => source.artifact === table.artifact_id)?.lines;
        return lines && <CitedRows key={`${table.kind}${table.artifact_id}`} table={table} lines={lines} />;
      })}
      {places.slice(0, MAX_VIEWS).map((source) => (
        <CitedLines
          key={source.artifact}
          artifact={source.artifact ?? ""}
          lines={source.lines ?? []}
          name={[names.collector(source.collector ?? ""), source.part].filter(Boolean).join(" · ")}
          run={source.run}
        />
      ))}
    </div>
  );
}
