import { Activity, Flame, ListChecks } from "lucide-react";
import type { Capture } from "../../client/models";
import { ButtonLink } from "../../components/Link";
import { Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { formatRange, padRange } from "../../core/time/range";
import { useRun, useRunFindings } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./CapturePage.module.css";

/** Maximum number of runs in this panel. With more runs, the table of runs links to the results. */
const MAX_RUNS = 3;
const EVALUATED_WITHIN_MS = 60_000;

type RunSummary = Capture["runs"][number];

/** Links to the profiles, findings and timeline of each run with results. */
export function CaptureResults({ capture }: { capture: Capture }) {
  const { t } = useTranslation();
  const runs = capture.runs.filter((run) => run.state === "done" || run.state === "partial");
  if (runs.length === 0 || runs.length > MAX_RUNS) return null;
  return (
    <Panel title={t("captures.results")}>
      {runs.map((run) => (
        <RunResults key={run.id} run={run} />
      ))}
    </Panel>
  );
}

function RunResults({ run }: { run: RunSummary }) {
  const { t } = useTranslation();
  const detail = useRun(run.id).data;
  // Rules are evaluated within seconds of the last artifact, so only findings of a recent run are polled.
  const isFresh = Date.now() - Date.parse(detail?.ended_at ?? "") < EVALUATED_WITHIN_MS;
  const findings = useRunFindings(run.id, isFresh).data;
  const began = detail?.started_at ? Date.parse(detail.started_at) * 1e6 : undefined;
  const ended = detail?.ended_at ? Date.parse(detail.ended_at) * 1e6 : undefined;
  return (
    <div className={classes.results}>
      {run.host && <strong>{run.host.name}</strong>}
      {detail?.profiles.map((profile) =>
        profile.state !== "ready" ? (
          <RunStateIcon key={profile.id} state={profile.state} />
        ) : (
          <ButtonLink
            key={profile.id}
            leftSection={<Flame size={14} />}
            to="/profiles/$profileId"
            params={{ profileId: profile.id }}
          >
            {profile.kind === "sched"
              ? t("sched.title")
              : t("run.flame", {
                  kind: t(`profile.kind.${profile.kind}` as "profile.kind.on_cpu", {
                    defaultValue: profile.kind,
                  }),
                })}
          </ButtonLink>
        ),
      )}
      <ButtonLink
        variant="default"
        leftSection={<ListChecks size={14} />}
        to="/runs/$runId"
        params={{ runId: run.id }}
      >
        {findings?.evaluated_at
          ? t("captures.findings", { count: findings.findings.length })
          : t("captures.openRun")}
      </ButtonLink>
      {run.host && began !== undefined && (
        <ButtonLink
          variant="default"
          leftSection={<Activity size={14} />}
          to="/hosts/$hostId"
          params={{ hostId: run.host.id }}
          search={{ t: formatRange(padRange({ from: began, to: ended ?? began + 30e9 }, 0.15)) }}
        >
          {t("run.timeline")}
        </ButtonLink>
      )}
    </div>
  );
}
