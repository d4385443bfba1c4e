import type { RunCalls } from "../../client/models";
import { DataTable } from "../../components/tables/DataTable";
import type { Hop } from "../../core/charts/callpath";
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
import { CitationLink } from "../findings/CitationLink";
import type { Call } from "./api";
import classes from "./Calls.module.css";
import { OpenOtherEnd } from "./OpenOtherEnd";
import { useCallNames } from "./useCallNames";

const countText = (value: number | null): string => (value === null ? NO_VALUE : formatCount(value));

/** Render all calls with all numbers as a table. */
export function CallsTable({ calls, trail }: { calls: RunCalls; trail: readonly Hop[] }) {
  const { t } = useTranslation();
  const shares = new Map(calls.response_time?.segments.map((callSegment) => [callSegment.call, callSegment]));
  return (
    <DataTable stack label={t("calls.table")}>
      <thead>
        <tr>
          <th>{t("calls.direction")}</th>
          <th>{t("calls.own")}</th>
          <th>{t("calls.otherEnd")}</th>
          <th className="right">{t("calls.count")}</th>
          <th className="right">{t("calls.rtt")}</th>
          <th className="right">{t("calls.retransmitted")}</th>
          <th className="right">{t("calls.queue")}</th>
          <th className="right">{t("calls.waitingHead")}</th>
          <th className="right">{t("calls.shareOf")}</th>
          <th>{t("calls.bothEnds")}</th>
          <th>{t("calls.source")}</th>
          <th>
            <span className="visually-hidden">{t("calls.openOtherEnd")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {[...calls.incoming, ...calls.outgoing].map((call) => (
          <Row key={call.key} call={call} share={shares.get(call.key)} trail={trail} />
        ))}
      </tbody>
    </DataTable>
  );
}

interface RowProps {
  call: Call;
  share: { share: number; low: number; high: number } | undefined;
  trail: readonly Hop[];
}

function Row({ call, share, trail }: RowProps) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useCallNames();
  return (
    <tr>
      <td className={classes.processName}>{t(`calls.directions.${call.direction}`)}</td>
      <td className={classes.processName}>{names.process(call.comm, call.pids)}</td>
      <td className={classes.other}>
        {names.other(call)} <span className="dim">{names.where(call)}</span>
        {call.endpoint.comm && <span className="mono dim"> {names.address(call)}</span>}
        {call.endpoint.reason && <p className={classes.explanation}>{formatMessage(call.endpoint.reason)}</p>}
      </td>
      <td className="num right">{countText(call.connections)}</td>
      <td className="num right">{formatMilliseconds(call.rtt_mean_ms)}</td>
      <td className="num right">{countText(call.retransmitted)}</td>
      <td className="num right">{formatBytes(call.send_queue_bytes)}</td>
      <td className="num right">{call.waiting === null ? NO_VALUE : formatNumber(call.waiting)}</td>
      <td className="num right">
        {share
          ? t("calls.between", {
              share: formatPercent(share.share),
              low: formatPercent(share.low),
              high: formatPercent(share.high),
            })
          : NO_VALUE}
      </td>
      <td className={classes.endpointTimes}>
        {call.endpoint_times
          ? t("calls.endpointTimes", {
              caller: formatNumber(call.endpoint_times.caller),
              callee: formatNumber(call.endpoint_times.callee),
              between: formatNumber(call.endpoint_times.between),
            })
          : call.endpoint_times_reason && (
              <span className="dim">{formatMessage(call.endpoint_times_reason)}</span>
            )}
        {call.logged_times && (
          <p className={classes.explanation}>
            {t("calls.loggedTimes", {
              caller: formatMilliseconds(call.logged_times.caller_ms),
              callee: formatMilliseconds(call.logged_times.callee_ms),
            })}
          </p>
        )}
      </td>
      <td>
        <CitationLink place={call.citations[0]} label={call.key} />
      </td>
      <td>
        <OpenOtherEnd call={call} trail={trail} />
      </td>
    </tr>
  );
}
