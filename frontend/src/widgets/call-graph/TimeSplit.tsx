import { useTranslation } from "react-i18next";
import type { CallSegment, RunCalls } from "../../client/types";
import { count, milliseconds, number, percent } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { PlaceLink } from "../findings/Place";
import classes from "./Calls.module.css";
import { useCallNames } from "./useCallNames";

/** The response time of the process, its own and that of each call; or why nobody knows. */
export function TimeSplit({ calls }: { calls: RunCalls }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const { reason } = useNames();
  const names = useCallNames();
  const { split } = calls;
  if (!split)
    return (
      <div className={classes.unmeasured}>
        <strong>{t("calls.splitNone")}</strong> <span>{sentence(reason(calls.split_why))}</span>
        <p className={classes.why}>{t("calls.splitHow")}</p>
      </div>
    );
  const nameOf = (one: CallSegment): string => {
    if (one.call === "") return t("calls.ownTime");
    const call = calls.out.find((each) => each.key === one.call);
    if (!call) return one.call;
    return call.place.host && call.place.kind === "host"
      ? `${names.other(call)} · ${call.place.host.name}`
      : names.other(call);
  };
  return (
    <div className={classes.split}>
      <div className={classes.bar} aria-hidden>
        {split.segments.map((one, at) => (
          <span
            key={one.call}
            className={classes.segment}
            data-own={one.call === "" || undefined}
            data-odd={at % 2 === 1 || undefined}
            style={{ flexGrow: Math.max(one.share, 0.002) }}
            title={`${nameOf(one)} ${percent(one.share)}`}
          />
        ))}
      </div>
      <ul className={classes.segments}>
        {split.segments.map((one) => (
          <li key={one.call}>
            <span className={classes.segmentName}>{nameOf(one)}</span>
            <span className="num">{percent(one.share)}</span>
            <span className="num dim">
              {percent(one.low)}…{percent(one.high)}
            </span>
            {one.ms !== null && <span className="num">{milliseconds(one.ms)}</span>}
            <PlaceLink place={one.citations[0]} label={nameOf(one)} />
          </li>
        ))}
      </ul>
      <p className={classes.why}>
        {t("calls.splitFrom", { met: count(split.met), requests: number(split.requests) })}
        {split.parallel && ` ${t("calls.parallel")}`}
      </p>
    </div>
  );
}
