import type { CSSProperties } from "react";
import type { RunCalls } from "../../client/models";
import { StatusIcon } from "../../components/StatusIcon";
import {
  BOX_GAP,
  buildCallCurves,
  type CallCurve,
  columnHeight,
  curvePath,
  type Hop,
  MAX_BOXES,
} from "../../core/charts/callpath";
import {
  formatBytes,
  formatCount,
  formatMilliseconds,
  formatNumber,
  formatPercent,
  NO_VALUE,
} from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitedSource } from "../findings/CitationLink";
import type { Call, CallSegment } from "./api";
import classes from "./Calls.module.css";
import { OpenOtherEnd } from "./OpenOtherEnd";
import { useCallNames } from "./useCallNames";

interface Props {
  calls: RunCalls;
  /** Processes on the path to this process, including it; each link passes them on. */
  trail: readonly Hop[];
}

/** Render callers, process and callees from left to right, on a narrow screen from top to bottom. */
export function CallGraph({ calls, trail }: Props) {
  const { t } = useTranslation();
  const { process } = useCallNames();
  const incoming = calls.incoming.slice(0, MAX_BOXES);
  const outgoing = calls.outgoing.slice(0, MAX_BOXES);
  const segments = calls.response_time?.segments ?? [];
  const height = columnHeight(Math.max(incoming.length, outgoing.length));
  const own = segments.find((callSegment) => callSegment.call === "");
  return (
    <div className={classes.graph} style={{ "--gap": `${BOX_GAP}px` } as CSSProperties}>
      <Column
        label={t("calls.callers")}
        calls={incoming}
        all={calls.incoming.length}
        trail={trail}
        segments={[]}
      />
      <CallCurves curves={buildCallCurves(incoming, [], "in", height)} calls={incoming} height={height} />
      <div className={classes.column}>
        <div className={classes.self}>
          <h3 className={classes.name}>
            {calls.pid === null && !calls.comm
              ? (calls.host?.name ?? t("calls.wholeScope"))
              : process(calls.comm, calls.pids)}
          </h3>
          {calls.host && (calls.pid !== null || calls.comm) && (
            <p className={classes.location}>{calls.host.name}</p>
          )}
          {own && (
            <p className={classes.numbers}>
              <CitedSource place={own.citations[0]}>
                <span className="num">{formatPercent(own.share)}</span> {t("calls.ownShare")}
              </CitedSource>
            </p>
          )}
        </div>
      </div>
      <CallCurves
        curves={buildCallCurves(outgoing, segments, "out", height)}
        calls={outgoing}
        height={height}
      />
      <Column
        label={t("calls.callees")}
        calls={outgoing}
        all={calls.outgoing.length}
        trail={trail}
        segments={segments}
      />
    </div>
  );
}

function CallCurves({
  curves,
  calls,
  height,
}: {
  curves: CallCurve[];
  calls: readonly Call[];
  height: number;
}) {
  return (
    <svg
      className={classes.curves}
      viewBox={`0 0 100 ${height}`}
      style={{ height }}
      preserveAspectRatio="none"
      aria-hidden
    >
      {curves.map((curve, at) => (
        <path
          key={curve.key}
          d={curvePath(curve)}
          strokeWidth={curve.width}
          className={classes.curve}
          data-kind={calls[at]?.endpoint.kind}
          vectorEffect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

interface ColumnProps {
  label: string;
  calls: readonly Call[];
  all: number;
  trail: readonly Hop[];
  segments: readonly CallSegment[];
}

function Column({ label, calls, all, trail, segments }: ColumnProps) {
  const { t } = useTranslation();
  return (
    <section className={classes.column} aria-label={label}>
      {calls.length === 0 && <p className={classes.noCalls}>{t("calls.noCalls")}</p>}
      <ul className={classes.boxes}>
        {calls.map((call) => (
          <ProcessBox
            key={call.key}
            call={call}
            trail={trail}
            segment={segments.find((s) => s.call === call.key)}
          />
        ))}
      </ul>
      {all > calls.length && (
        <p className={classes.omittedCount}>{t("calls.rest", { count: all - calls.length })}</p>
      )}
    </section>
  );
}

function ProcessBox({
  call,
  trail,
  segment,
}: {
  call: Call;
  trail: readonly Hop[];
  segment?: CallSegment | undefined;
}) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useCallNames();
  const { endpoint } = call;
  const connections = call.connections === null ? NO_VALUE : formatCount(call.connections);
  const known = endpoint.kind === "process" || endpoint.kind === "unix" || endpoint.kind === "host";
  return (
    <li className={classes.box} data-kind={endpoint.kind}>
      <div className={classes.boxHead}>
        <strong className={classes.name} title={names.other(call)}>
          {names.other(call)}
        </strong>
        <OpenOtherEnd call={call} trail={trail} />
      </div>
      <p className={classes.location} title={endpoint.reason ? formatMessage(endpoint.reason) : undefined}>
        {known ? names.where(call) : <StatusIcon tone="idle">{names.where(call)}</StatusIcon>}
        {endpoint.comm && <span className="mono dim">{names.address(call)}</span>}
        {call.direction === "in" && call.port !== null && (
          <span className="dim">{t("calls.toPort", { port: call.port })}</span>
        )}
      </p>
      <p className={classes.numbers}>
        <CitedSource place={call.citations[0]}>
          <span className="num">{connections}</span> {t("calls.connections")}
        </CitedSource>
        {call.rtt_mean_ms !== null && (
          <span>
            {t("calls.rtt")} <span className="num">{formatMilliseconds(call.rtt_mean_ms)}</span>
          </span>
        )}
        {(call.send_queue_bytes ?? 0) > 0 && (
          <span className={classes.warn}>
            {t("calls.queue")} <span className="num">{formatBytes(call.send_queue_bytes)}</span>
          </span>
        )}
        {(call.retransmitting ?? 0) > 0 && (
          <span className={classes.warn}>
            {t("calls.retransmitting", { count: call.retransmitting ?? 0 })}
          </span>
        )}
        {(call.syn_sent ?? 0) > 0 && (
          <span className={classes.warn}>{t("calls.unanswered", { count: call.syn_sent ?? 0 })}</span>
        )}
        {segment ? (
          <CitedSource place={segment.citations[0]}>
            <span className="num">{formatPercent(segment.share)}</span> {t("calls.ofResponseTime")}
          </CitedSource>
        ) : (
          call.waiting !== null &&
          call.waiting > 0 && (
            <span>
              <span className="num">{formatNumber(call.waiting)}</span> {t("calls.waiting")}
            </span>
          )
        )}
      </p>
    </li>
  );
}
