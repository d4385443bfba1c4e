import { SegmentedControl, Select } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { RunCalls } from "../../client/types";
import { ButtonLink, Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { formatTrail, type Hop, parseTrail, processesOf } from "../../core/callpath";
import { formatRange, padded, type Range } from "../../core/range";
import { useSentence } from "../../lib/i18n";
import { useRun, useRunCalls } from "../../lib/queries";
import { choiceField, intField, rangeField, textField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { CallGraph } from "../../renderers/calls/CallGraph";
import { CallsTable } from "../../renderers/calls/CallsTable";
import { TimeSplit } from "../../renderers/calls/TimeSplit";
import { useCallNames } from "../../renderers/calls/useCallNames";
import classes from "./CallsPage.module.css";

const FIELDS = {
  pid: intField,
  t: rangeField,
  via: textField,
  as: choiceField(["drawing", "table"] as const, "drawing"),
};

/** Follow the call: one process, who calls it and whom it calls, and on to the next one. */
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
      meta={calls && <Where calls={calls} range={range} />}
      actions={calls && <ToTimeline calls={calls} range={range} />}
    >
      <Panel
        flush
        title={t("calls.path")}
        aside={
          <>
            {calls && <Processes runId={runId} calls={calls} range={range} />}
            <SegmentedControl
              size="xs"
              aria-label={t("calls.as")}
              data={(["drawing", "table"] as const).map((value) => ({
                value,
                label: t(`calls.shown.${value}`),
              }))}
              value={as}
              onChange={(value) => set({ as: value as "drawing" | "table" })}
            />
          </>
        }
      >
        <Loaded query={query} skeleton={<BlockSkeleton height={320} />}>
          {(data) =>
            data.into.length + data.out.length === 0 ? (
              <Empty title={t("calls.none")}>
                <Missing calls={data} />
              </Empty>
            ) : as === "table" ? (
              <CallsTable calls={data} trail={trail} />
            ) : (
              <CallGraph calls={data} trail={trail} />
            )
          }
        </Loaded>
      </Panel>
      {calls && (
        <Panel flush title={t("calls.split")}>
          <TimeSplit calls={calls} />
        </Panel>
      )}
      {calls && calls.into.length + calls.out.length > 0 && calls.missing.length > 0 && (
        <Panel title={t("calls.missing")}>
          <Missing calls={calls} />
        </Panel>
      )}
    </Page>
  );
}

/** The way that led here; each step leads back to it. */
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
              search={
                {
                  pid: hop.pid === undefined ? undefined : String(hop.pid),
                  t: range && formatRange(range),
                  via: formatTrail(hops.slice(0, at)) || undefined,
                } as never
              }
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

function Where({ calls, range }: { calls: RunCalls; range: Range | undefined }) {
  const time = useTimeFormat();
  const shown =
    range ??
    (calls.t0_ns !== null && calls.t1_ns !== null ? { from: calls.t0_ns, to: calls.t1_ns } : undefined);
  return (
    <>
      {calls.host && (
        <Link to="/hosts/$hostId" params={{ hostId: calls.host.id }}>
          {calls.host.name}
        </Link>
      )}
      {shown && (
        <span className="num">
          {time.instant(shown.from, 1e9)} – {time.time(shown.to, 1e9)}
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

/** Which process is looked at; without one, all that the capture looked at. */
function Processes({ runId, calls, range }: ProcessesProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { process } = useCallNames();
  const whole = useRunCalls(runId, undefined, range).data;
  const all = processesOf([...(whole?.out ?? []), ...(whole?.into ?? [])]);
  const found =
    calls.pid === null || all.some((one) => one.pid === calls.pid)
      ? all
      : [{ pid: calls.pid, comm: calls.comm }, ...all];
  return (
    <Select
      size="xs"
      w={220}
      searchable
      clearable
      aria-label={t("calls.which")}
      placeholder={t("calls.everything")}
      data={found.map((one) => ({ value: String(one.pid), label: process(one.comm, [one.pid]) }))}
      value={calls.pid === null ? null : String(calls.pid)}
      onChange={(value) =>
        void navigate({
          to: ".",
          search: ((before: Record<string, string>) => ({ ...before, pid: value ?? undefined })) as never,
        })
      }
    />
  );
}

function ToTimeline({ calls, range }: { calls: RunCalls; range: Range | undefined }) {
  const { t } = useTranslation();
  const own =
    calls.t0_ns !== null && calls.t1_ns !== null
      ? padded({ from: calls.t0_ns, to: calls.t1_ns }, 0.15)
      : undefined;
  const shown = range ?? own;
  if (!calls.host || !shown) return null;
  return (
    <ButtonLink
      variant="default"
      to="/hosts/$hostId"
      params={{ hostId: calls.host.id }}
      search={{ t: formatRange(shown) } as never}
    >
      {t("run.timeline")}
    </ButtonLink>
  );
}

/** What nobody collected, and what would collect it. */
function Missing({ calls }: { calls: RunCalls }) {
  const sentence = useSentence();
  const names = useNames();
  return (
    <ul className={classes.missing}>
      {calls.missing.map((one) => (
        <li key={one.collector}>
          <strong>{names.collector(one.collector)}</strong> {sentence(names.reason(one.reason))}
        </li>
      ))}
    </ul>
  );
}
