import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Run } from "../../client/types";
import { Facts } from "../../components/Facts";
import { ButtonLink, Link } from "../../components/Link";
import { StateMark } from "../../components/Mark";
import { Page, Panel } from "../../components/Page";
import { ErrorState, RowSkeleton } from "../../components/States";
import { bytes, milliseconds, seconds } from "../../core/format";
import { formatRange, padded } from "../../core/range";
import { useSentence } from "../../lib/i18n";
import { isActive, useRun } from "../../lib/queries";
import { textField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { Visuals } from "../../renderers/visuals/Visuals";
import { Artifacts } from "./Artifacts";
import { BeforeChoice } from "./BeforeChoice";
import { Collectors } from "./Collectors";
import { Findings } from "./Findings";
import { Profiles } from "./Profiles";
import { SchedPanel } from "./SchedPanel";
import { SeriesPanel } from "./SeriesPanel";
import { Tables } from "./Tables";

/** `before` is the run that the pictures compare this one with. */
const FIELDS = { before: textField };

/** One run: what ran on the host, what came home, and what was read from it. */
export function RunPage() {
  const { runId } = useParams({ strict: false }) as { runId: string };
  const { t } = useTranslation();
  const names = useNames();
  const query = useRun(runId);
  const run = query.data;
  return (
    <Page
      title={run ? t("run.title", { host: run.host?.name ?? t("profile.imported") }) : t("run.tab")}
      above={
        run && (
          <Link to="/captures/$captureId" params={{ captureId: run.capture.id }}>
            {t("run.capture", { number: run.capture.number, plan: names.plan(run.capture.plan) })}
          </Link>
        )
      }
      meta={run && <StateMark state={run.state} />}
      actions={
        run && (
          <>
            {!isActive(run.state) && (
              <ButtonLink variant="default" to="/runs/$runId/calls" params={{ runId: run.id }}>
                {t("calls.title")}
              </ButtonLink>
            )}
            {run.host && <ToTimeline run={run} hostId={run.host.id} />}
          </>
        )
      }
    >
      {query.error && !run && <ErrorState error={query.error} retry={() => void query.refetch()} />}
      {!run && !query.error && <RowSkeleton rows={14} />}
      {run && <Parts run={run} />}
    </Page>
  );
}

/** What retention has deleted of it: it was there, and what was read of it before still stands. */
function Removed({ run }: { run: Run }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const gone = run.removals ?? [];
  if (gone.length === 0) return null;
  return (
    <p role="note">
      {t("storage.removed")}{" "}
      {gone
        .map((one) =>
          t("storage.removedKind", {
            kind: t(`storage.kinds.${one.kind}`),
            size: bytes(one.bytes),
            date: time.iso(one.at).slice(0, 10),
          }),
        )
        .join("; ")}
      . {t("storage.removedText")}
    </p>
  );
}

function Parts({ run }: { run: Run }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const time = useTimeFormat();
  const [{ before }, set] = useUrlState(FIELDS);
  const clock = run.clock;
  const timing = (name: string) => milliseconds(run.timings?.[name]);
  return (
    <>
      <Panel>
        {run.failure && <p role="alert">{sentence(run.failure)}</p>}
        <Removed run={run} />
        <Facts
          items={[
            [t("run.started"), time.iso(run.started_at)],
            [t("run.took"), seconds(run.seconds)],
            [t("run.attempt"), run.attempt],
            [t("run.bytes"), bytes(run.bytes)],
            [t("run.cost"), milliseconds(run.host_cpu_ms)],
            [
              t("run.clock"),
              clock?.offset_ms == null
                ? "–"
                : `${milliseconds(clock.offset_ms)} ± ${milliseconds(clock.uncertainty_ms)}${clock.source ? ` · ${clock.source}` : ""}`,
            ],
            [t("run.connect"), timing("connect_ms")],
            [t("run.login"), timing("login_ms")],
            [t("run.fork"), timing("fork_ms")],
            [t("run.rtt"), timing("rtt_ms")],
          ]}
        />
      </Panel>
      {!isActive(run.state) && <Findings run={run} />}
      {!isActive(run.state) && (
        <Panel
          title={t("visuals.title")}
          flush
          id="visuals"
          aside={
            run.host && (
              <BeforeChoice
                run={run}
                hostId={run.host.id}
                before={before}
                onChange={(id) => set({ before: id })}
              />
            )
          }
        >
          <Visuals runId={run.id} baseline={before || undefined} />
        </Panel>
      )}
      <Profiles profiles={run.profiles} />
      <Panel title={t("run.collectors")} flush>
        <Collectors run={run} />
      </Panel>
      {run.profiles.some((p) => p.kind === "sched" && p.state === "ready") && <SchedPanel runId={run.id} />}
      {!isActive(run.state) && <SeriesPanel runId={run.id} />}
      <Tables runId={run.id} tables={run.tables} />
      <Panel title={t("run.artifacts")} aside={t("run.artifactsAside")} flush>
        <Artifacts artifacts={run.artifacts} />
      </Panel>
    </>
  );
}

function ToTimeline({ run, hostId }: { run: Run; hostId: string }) {
  const { t } = useTranslation();
  if (!run.started_at) return null;
  const from = Date.parse(run.started_at) * 1e6;
  const to = run.ended_at ? Date.parse(run.ended_at) * 1e6 : from + 30e9;
  return (
    <ButtonLink
      variant="default"
      to="/hosts/$hostId"
      params={{ hostId }}
      search={{ t: formatRange(padded({ from, to }, 0.15)) } as never}
    >
      {t("run.timeline")}
    </ButtonLink>
  );
}
