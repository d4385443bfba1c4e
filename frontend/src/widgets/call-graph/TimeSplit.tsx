import type { RunCalls } from "../../client/models";
import { formatCount, formatMilliseconds, formatNumber, formatPercent } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitationLink } from "../findings/CitationLink";
import type { CallSegment } from "./api";
import classes from "./Calls.module.css";
import { useCallNames } from "./useCallNames";

/** Render the response time of the process, split into self time and calls, or the reason why it is unknown. */
export function TimeSplit({ calls }: { calls: RunCalls }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const { reason } = useNames();
  const names = useCallNames();
  const { response_time: responseTime } = calls;
  if (!responseTime)
    return (
      <div className={classes.noResponseTime}>
        <strong>{t("calls.noResponseTime")}</strong>{" "}
        <span>{formatMessage(reason(calls.response_time_reason))}</span>
        <p className={classes.explanation}>{t("calls.responseTimeHow")}</p>
      </div>
    );
  const nameOf = (callSegment: CallSegment): string => {
    if (callSegment.call === "") return t("calls.ownTime");
    const call = calls.outgoing.find((each) => each.key === callSegment.call);
    if (!call) return callSegment.call;
    return call.endpoint.host && call.endpoint.kind === "host"
      ? `${names.other(call)} · ${call.endpoint.host.name}`
      : names.other(call);
  };
  return (
    <div className={classes.split}>
      <div className={classes.bar} aria-hidden>
        {responseTime.segments.map((callSegment, at) => (
          <span
            key={callSegment.call}
            className={classes.segment}
            data-own={callSegment.call === "" || undefined}
            data-odd={at % 2 === 1 || undefined}
            style={{ flexGrow: Math.max(callSegment.share, 0.002) }}
            title={`${nameOf(callSegment)} ${formatPercent(callSegment.share)}`}
          />
        ))}
      </div>
      <ul className={classes.segments}>
        {responseTime.segments.map((callSegment) => (
          <li key={callSegment.call}>
            <span className={classes.segmentName}>{nameOf(callSegment)}</span>
            <span className="num">{formatPercent(callSegment.share)}</span>
            <span className="num dim">
              {formatPercent(callSegment.low)}…{formatPercent(callSegment.high)}
            </span>
            {callSegment.ms !== null && <span className="num">{formatMilliseconds(callSegment.ms)}</span>}
            <CitationLink place={callSegment.citations[0]} label={nameOf(callSegment)} />
          </li>
        ))}
      </ul>
      <p className={classes.explanation}>
        {t("calls.responseTimeBasis", {
          observed: formatCount(responseTime.observed),
          requests: formatNumber(responseTime.requests),
        })}
        {responseTime.parallel && ` ${t("calls.parallel")}`}
      </p>
    </div>
  );
}
