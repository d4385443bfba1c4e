import { SegmentedControl, Select } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { Fragment } from "react";
import type { RunCalls } from "../../client/models";
import { BlockSkeleton, EmptyState, QueryContent } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { formatTrail, type Hop, parseTrail, processesOf } from "../../core/charts/callpath";
import type { Search } from "../../core/search";
import { formatRange, padRange, type Range } from "../../core/time/range";
import { useRun, useRunCalls } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, intField, rangeField, textField, useUrlState } from "../../lib/urlState";
import { CallGraph } from "../../widgets/call-graph/CallGraph";
import { CallsTable } from "../../widgets/call-graph/CallsTable";
import { TimeSplit } from "../../widgets/call-graph/TimeSplit";
import { useCallNames } from "../../widgets/call-graph/useCallNames";
import classes from "./CallsPage.module.css";

const FIELDS = {
  pid: intField,
  t: rangeField,
  via: textField,
  as: choiceField(["graph", "table"] as const, "graph"),
};

/** Call graph of a process: its calls in both directions, with links to the other ends. */
export function CallsPage() {
  const { runId } = useParams({ strict: false }) as { runId: string };
  const { t } = useTranslation();
  const [{ pid, t: range, via, as }, set] = useUrlState(FIELDS);
  const query = useRunCalls(runId, pid, range);
  const calls = query.data;
  const trail = [...parseTrail(via), { run: runId, pid }];
  return (
    <Page
      title={t("calls.title")}
      above={<Trail hops={trail} range={range} />}
      meta={calls && <CallLocation calls={calls} range={range} />}
      actions={calls && <ToTimeline calls={calls} range={range} />}
    >
      <Panel
        flush
        title={t("calls.path")}
        headerExtra={
          <>
            {calls && <Processes runId={runId} calls={calls} range={range} />}
            <SegmentedControl
              size="xs"
              aria-label={t("calls.view")}
              data={(["graph", "table"] as const).map((value) => ({
                value,
                label: t(`calls.shown.${value}`),
              }))}
              value={as}
              onChange={(value) => set({ as: value as "graph" | "table" })}
            />
          </>
        }
      >
        <QueryContent query={query} skeleton={<BlockSkeleton height={320} />}>
          {(data) =>
            data.incoming.length + data.outgoing.length === 0 ? (
              <EmptyState title={t("calls.none")}>
                <NoCalls calls={data} />
              </EmptyState>
            ) : as === "table" ? (
              <CallsTable calls={data} trail={trail} />
            ) : (
              <CallGraph calls={data} trail={trail} />
            )
          }
        </QueryContent>
      </Panel>
      {calls && (
        <Panel flush title={t("calls.responseTime")}>
          <TimeSplit calls={calls} />
        </Panel>
      )}
      {calls && calls.incoming.length + calls.outgoing.length > 0 && calls.missing.length > 0 && (
        <Panel title={t("calls.missing")}>
          <NoCalls calls={calls} />
        </Panel>
      )}
    </Page>
  );
}

/** Breadcrumb links to the previously opened processes. */
function Trail({ hops, range }: { hops: readonly Hop[]; range: Range | undefined }) {
  const { t } = useTranslation();
  const last = hops.length - 1;
  return (
    <nav aria-label={t("calls.trail")} className={classes.trail}>
      <Link to="/runs/$runId" params={{ runId: hops[0]?.run ?? "" }}>
        {t("run.tab")}
      </Link>
      {hops.map((hop, at) => (
        <Fragment key={`${hop.run}.${hop.pid}.${at}`}>
          <ChevronRight size={12} aria-hidden />
          {at === last ? (
            <span aria-current="page">
              <HopName hop={hop} range={range} />
            </span>
          ) : (
            <Link
              to="/runs/$runId/calls"
              params={{ runId: hop.run }}
              search={{
                pid: hop.pid === undefined ? undefined : String(hop.pid),
                t: range && formatRange(range),
                via: formatTrail(hops.slice(0, at)) || undefined,
              }}
            >
              <HopName hop={hop} range={range} />
            </Link>
          )}
        </Fragment>
      ))}
    </nav>
  );
}

function HopName({ hop, range }: { hop: Hop; range: Range | undefined }) {
  const { t } = useTranslation();
  const { process } = useCallNames();
  const run = useRun(hop.run).data;
  const calls = useRunCalls(hop.run, hop.pid, range).data;
  const host = run?.host?.name ?? t("profile.imported");
  if (hop.pid === undefined) return <>{run ? host : t("run.tab")}</>;
  return (
    <>
      {process(calls?.comm ?? "", [hop.pid])} · {run ? host : "…"}
    </>
  );
}

function CallLocation({ calls, range }: { calls: RunCalls; range: Range | undefined }) {
  const time = useTimeFormat();
  const visible =
    range ??
    (calls.t0_ns !== null && calls.t1_ns !== null ? { from: calls.t0_ns, to: calls.t1_ns } : undefined);
  return (
    <>
      {calls.host && (
        <Link to="/hosts/$hostId" params={{ hostId: calls.host.id }}>
          {calls.host.name}
        </Link>
      )}
      {visible && (
        <span className="num">
          {time.instant(visible.from, 1e9)} – {time.time(visible.to, 1e9)}
        </span>
      )}
    </>
  );
}

interface ProcessesProps {
  runId: string;
  calls: RunCalls;
  range: Range | undefined;
}

/** Select of a process; without a process, the page covers the whole scope of the capture. */
function Processes({ runId, calls, range }: ProcessesProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { process } = useCallNames();
  const whole = useRunCalls(runId, undefined, range).data;
  const all = processesOf([...(whole?.outgoing ?? []), ...(whole?.incoming ?? [])]);
  const options =
    calls.pid === null || all.some((process) => process.pid === calls.pid)
      ? all
      : [{ pid: calls.pid, comm: calls.comm }, ...all];
  return (
    <Select
      size="xs"
      w={220}
      searchable
      clearable
      aria-label={t("calls.chooseProcess")}
      placeholder={t("calls.wholeScope")}
      data={options.map((item) => ({ value: String(item.pid), label: process(item.comm, [item.pid]) }))}
      value={calls.pid === null ? null : String(calls.pid)}
      onChange={(value) =>
        void navigate({
          to: ".",
          search: (before: Search): Search => ({ ...before, pid: value ?? undefined }),
        })
      }
    />
  );
}

function ToTimeline({ calls, range }: { calls: RunCalls; range: Range | undefined }) {
  const { t } = useTranslation();
  const own =
    calls.t0_ns !== null && calls.t1_ns !== null
      ? padRange({ from: calls.t0_ns, to: calls.t1_ns }, 0.15)
      : undefined;
  const visible = range ?? own;
  if (!calls.host || !visible) return null;
  return (
    <ButtonLink
      variant="default"
      to="/hosts/$hostId"
      params={{ hostId: calls.host.id }}
      search={{ t: formatRange(visible) }}
    >
      {t("run.timeline")}
    </ButtonLink>
  );
}

/** Collectors without data, and the reason. */
function NoCalls({ calls }: { calls: RunCalls }) {
  const formatMessage = useMessage();
  const names = useNames();
  return (
    <ul className={classes.missing}>
      {calls.missing.map((item) => (
        <li key={item.collector}>
          <strong>{names.collector(item.collector)}</strong> {formatMessage(names.reason(item.reason))}
        </li>
      ))}
    </ul>
  );
}
