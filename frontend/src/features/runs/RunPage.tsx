import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Run } from "../../client/models";
import { BlockSkeleton, EmptyState } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { Tabs } from "../../components/Tabs";
import { FactList } from "../../components/tables/FactList";
import { formatBytes, formatMilliseconds, formatSeconds } from "../../core/text/format";
import { formatRange, padRange } from "../../core/time/range";
import { isActive, useRun } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { textField, useUrlState } from "../../lib/urlState";
import { useOverview } from "../../widgets/timeline/useTimelineData";
import { isWithoutData, RunFindingsPanel } from "./RunFindingsPanel";
import { RunProfiles } from "./RunProfiles";

const ChartsTab = lazy(() => import("./ChartsTab").then((m) => ({ default: m.ChartsTab })));
const ResultTables = lazy(() => import("./ResultTables").then((m) => ({ default: m.ResultTables })));
const RunArtifacts = lazy(() => import("./RunArtifacts").then((m) => ({ default: m.RunArtifacts })));
const RunCollectors = lazy(() => import("./RunCollectors").then((m) => ({ default: m.RunCollectors })));
const SchedulerPanel = lazy(() =>
  import("../../widgets/scheduler/SchedulerPanel").then((m) => ({ default: m.SchedulerPanel })),
);

const TABS = ["results", "charts", "scheduler", "collectors", "tables", "artifacts"] as const;
type RunTab = (typeof TABS)[number];

/** URL parameters: `before` is the baseline run of the charts; `row` and `table` select a row of the tables. */
const FIELDS = { tab: textField, before: textField, row: textField, table: textField };

/** Page of a run: results, charts, collectors, tables and artifacts. */
export function RunPage() {
  const { runId } = useParams({ strict: false }) as { runId: string };
  const { t } = useTranslation();
  const names = useNames();
  const query = useRun(runId);
  const run = query.data;
  if (!run)
    return (
      <LoadingPage
        title={t("run.tab")}
        above={<Link to="/captures">{t("nav.captures")}</Link>}
        query={query}
        actionsWidth={270}
      >
        <BlockSkeleton height={64} />
        <BlockSkeleton height={36} />
        <BlockSkeleton height={420} />
      </LoadingPage>
    );
  return (
    <Page
      title={t("run.title", { host: run.host?.name ?? t("profile.imported") })}
      above={
        <Link to="/captures/$captureId" params={{ captureId: run.capture.id }}>
          {t("run.capture", { number: run.capture.number, plan: names.plan(run.capture.plan) })}
        </Link>
      }
      meta={<RunStateIcon state={run.state} />}
      actions={
        <>
          {!isActive(run.state) && (
            <ButtonLink variant="default" to="/runs/$runId/calls" params={{ runId: run.id }}>
              {t("calls.title")}
            </ButtonLink>
          )}
          {run.host && !isActive(run.state) && <ToWhatChanged run={run} hostId={run.host.id} />}
          {run.host && <ToTimeline run={run} hostId={run.host.id} />}
        </>
      }
    >
      <RunParts run={run} />
    </Page>
  );
}

/** Data of the run that retention has deleted; results parsed before that are still valid. */
function RemovalNote({ run }: { run: Run }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const removals = run.removals ?? [];
  if (removals.length === 0) return null;
  return (
    <p role="note">
      {t("storage.removed")}{" "}
      {removals
        .map((removal) =>
          t("storage.removedKind", {
            kind: t(`storage.kinds.${removal.kind}`),
            size: formatBytes(removal.bytes),
            date: time.iso(removal.at).slice(0, 10),
          }),
        )
        .join("; ")}
      . {t("storage.removedText")}
    </p>
  );
}

/** Return the tab of the URL, else the tab of its other parameters, else the default tab for the run's state. */
function chooseTab(run: Run, { tab, before, row, table }: { [Name in keyof typeof FIELDS]: string }): RunTab {
  const named = TABS.find((id) => id === tab);
  if (named) return named;
  if (row || table) return "tables";
  if (before) return "charts";
  return isActive(run.state) ? "collectors" : "results";
}

/** Tabs of a run. Only the selected tab is rendered, because all of them together take a browser too long. */
function RunParts({ run }: { run: Run }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const [state, set] = useUrlState(FIELDS);
  const hasSched = run.profiles.some((profile) => profile.kind === "sched" && profile.state === "ready");
  const counts: Partial<Record<RunTab, number>> = {
    collectors: run.collectors.length,
    tables: run.tables.length,
    artifacts: run.artifacts.length,
  };
  const ids = TABS.filter((id) => id !== "scheduler" || hasSched);
  const tab = chooseTab(run, state);
  return (
    <>
      {run.failure && (
        <div role="alert">
          <Panel>
            <EmptyState
              title={<RunStateIcon state={run.state} />}
              action={
                run.host && (
                  <ButtonLink variant="default" to="/hosts/$hostId" params={{ hostId: run.host.id }}>
                    {t("run.checkHost")}
                  </ButtonLink>
                )
              }
            >
              {formatMessage(run.failure)}
            </EmptyState>
          </Panel>
        </div>
      )}
      {!run.failure && isWithoutData(run) && tab !== "collectors" && (
        <div role="alert">
          <Panel>
            <EmptyState
              title={<RunStateIcon state={run.state} />}
              action={
                <Button variant="default" onClick={() => set({ tab: "collectors" }, { push: true })}>
                  {t("run.openCollectors")}
                </Button>
              }
            >
              {t("run.withoutData")}
            </EmptyState>
          </Panel>
        </div>
      )}
      <RemovalNote run={run} />
      <Tabs
        label={t("run.parts")}
        tabs={ids.map((id) => ({ id, text: t(`run.partName.${id}`), count: counts[id] }))}
        value={tab}
        onChange={(id, isKey) => set({ tab: id, before: "", row: "", table: "" }, { push: !isKey })}
      />
      <Suspense fallback={<BlockSkeleton height={480} />}>
        {tab === "results" && (
          <>
            <RunProfiles profiles={run.profiles} />
            <RunFindingsPanel run={run} />
          </>
        )}
        {tab === "charts" && (
          <ChartsTab
            run={run}
            before={state.before}
            onBaseline={(id) => set({ tab: "charts", before: id })}
          />
        )}
        {tab === "scheduler" && hasSched && <SchedulerPanel runId={run.id} hostId={run.host?.id} />}
        {tab === "collectors" && (
          <>
            <Panel>
              <RunFacts run={run} />
            </Panel>
            <Panel title={t("run.collectors")} flush>
              <RunCollectors run={run} />
            </Panel>
          </>
        )}
        {tab === "tables" && <ResultTables runId={run.id} tables={run.tables} />}
        {tab === "artifacts" && (
          <Panel title={t("run.artifacts")} headerExtra={t("run.artifactsHint")} flush>
            <RunArtifacts artifacts={run.artifacts} />
          </Panel>
        )}
      </Suspense>
    </>
  );
}

/** Start, duration, size, cost, clock offset and SSH timings of a run. */
function RunFacts({ run }: { run: Run }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const clock = run.clock;
  const timing = (name: string) => formatMilliseconds(run.timings?.[name]);
  return (
    <FactList
      items={[
        [t("run.started"), time.iso(run.started_at)],
        [t("run.duration"), formatSeconds(run.seconds)],
        [t("run.attempt"), run.attempt],
        [t("run.bytes"), formatBytes(run.bytes)],
        [t("run.cost"), formatMilliseconds(run.host_cpu_ms)],
        [
          t("run.clock"),
          clock?.offset_ms == null
            ? "–"
            : `${formatMilliseconds(clock.offset_ms)} ± ${formatMilliseconds(clock.uncertainty_ms)}${clock.source ? ` · ${clock.source}` : ""}`,
        ],
        [t("run.connect"), timing("connect_ms")],
        [t("run.login"), timing("login_ms")],
        [t("run.fork"), timing("fork_ms")],
        [t("run.rtt"), timing("rtt_ms")],
      ]}
    />
  );
}

/** Link that compares the run with the previous run of the host. */
function ToWhatChanged({ run, hostId }: { run: Run; hostId: string }) {
  const { t } = useTranslation();
  const block = useOverview(hostId).data?.runs.find((item) => item.run_id === run.id);
  if (!block) return null;
  return (
    <ButtonLink
      variant="default"
      to="/what-changed"
      search={{ host: hostId, b: formatRange({ from: block.from_ns, to: block.to_ns }) }}
    >
      {t("timeline.whatChanged")}
    </ButtonLink>
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
      search={{ t: formatRange(padRange({ from, to }, 0.15)) }}
    >
      {t("run.timeline")}
    </ButtonLink>
  );
}
