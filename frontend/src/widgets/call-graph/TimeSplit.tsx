import type { RunCalls } from "../../client/models";
import { count, milliseconds, number, percent } from "../../core/text/format";
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
  const sentence = useMessage();
  const { reason } = useNames();
  const names = useCallNames();
  const { response_time: responseTime } = calls;
  if (!responseTime)
    return (
      <div className={classes.unmeasured}>
        <strong>{t("calls.noResponseTime")}</strong>{" "}
        <span>{sentence(reason(calls.response_time_reason))}</span>
        <p className={classes.why}>{t("calls.responseTimeHow")}</p>
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
            title={`${nameOf(callSegment)} ${percent(callSegment.share)}`}
          />
        ))}
      </div>
      <ul className={classes.segments}>
        {responseTime.segments.map((callSegment) => (
          <li key={callSegment.call}>
            <span className={classes.segmentName}>{nameOf(callSegment)}</span>
            <span className="num">{percent(callSegment.share)}</span>
            <span className="num dim">
              {percent(callSegment.low)}…{percent(callSegment.high)}
            </span>
            {callSegment.ms !== null && <span className="num">{milliseconds(callSegment.ms)}</span>}
            <CitationLink place={callSegment.citations[0]} label={nameOf(callSegment)} />
          </li>
        ))}
      </ul>
      <p className={classes.why}>
        {t("calls.responseTimeBasis", {
          observed: count(responseTime.observed),
          requests: number(responseTime.requests),
        })}
        {responseTime.parallel && ` ${t("calls.parallel")}`}
      </p>
    </div>
  );
}
