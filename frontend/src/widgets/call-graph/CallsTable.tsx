import { useTranslation } from "react-i18next";
import type { Call, RunCalls } from "../../client/types";
import { Grid } from "../../components/Grid";
import type { Hop } from "../../core/callpath";
import { bytes, count, milliseconds, NO_VALUE, number, percent } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { PlaceLink } from "../findings/Place";
import classes from "./Calls.module.css";
import { GoOn } from "./GoOn";
import { useCallNames } from "./useCallNames";

const counted = (value: number | null): string => (value === null ? NO_VALUE : count(value));

/** Every call with every number, for those who read rather than look. */
export function CallsTable({ calls, trail }: { calls: RunCalls; trail: readonly Hop[] }) {
  const { t } = useTranslation();
  const shares = new Map(calls.split?.segments.map((one) => [one.call, one]));
  return (
    <Grid stack label={t("calls.table")}>
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
          <th>{t("calls.both")}</th>
          <th>{t("calls.source")}</th>
          <th>
            <span className="visually-hidden">{t("calls.goOn")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {[...calls.into, ...calls.out].map((one) => (
          <Row key={one.key} call={one} share={shares.get(one.key)} trail={trail} />
        ))}
      </tbody>
    </Grid>
  );
}

interface RowProps {
  call: Call;
  share: { share: number; low: number; high: number } | undefined;
  trail: readonly Hop[];
}

function Row({ call, share, trail }: RowProps) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useCallNames();
  return (
    <tr>
      <td className={classes.who}>{t(`calls.ways.${call.direction}`)}</td>
      <td className={classes.who}>{names.process(call.comm, call.pids)}</td>
      <td className={classes.other}>
        {names.other(call)} <span className="dim">{names.where(call)}</span>
        {call.place.comm && <span className="mono dim"> {names.address(call)}</span>}
        {call.place.why && <p className={classes.why}>{sentence(call.place.why)}</p>}
      </td>
      <td className="num right">{counted(call.connections)}</td>
      <td className="num right">{milliseconds(call.rtt_mean_ms)}</td>
      <td className="num right">{counted(call.retransmitted)}</td>
      <td className="num right">{bytes(call.send_queue_bytes)}</td>
      <td className="num right">{call.waiting === null ? NO_VALUE : number(call.waiting)}</td>
      <td className="num right">
        {share
          ? t("calls.between", {
              share: percent(share.share),
              low: percent(share.low),
              high: percent(share.high),
            })
          : NO_VALUE}
      </td>
      <td className={classes.ends}>
        {call.ends
          ? t("calls.ends", {
              caller: number(call.ends.caller),
              callee: number(call.ends.callee),
              between: number(call.ends.between),
            })
          : call.ends_why && <span className="dim">{sentence(call.ends_why)}</span>}
        {call.logged && (
          <p className={classes.why}>
            {t("calls.logged", {
              caller: milliseconds(call.logged.caller_ms),
              callee: milliseconds(call.logged.callee_ms),
            })}
          </p>
        )}
      </td>
      <td>
        <PlaceLink place={call.citations[0]} label={call.key} />
      </td>
      <td>
        <GoOn call={call} trail={trail} />
      </td>
    </tr>
  );
}
