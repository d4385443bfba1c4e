import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Standby, StandbyState } from "../../client/standbys";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { bytes, NO_VALUE, quantity, seconds } from "../../core/format";
import { useLocale, useSentence } from "../../lib/i18n";
import { post, useAction, useMay } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { conditionText, lastReading, titleOf } from "./conditionText";
import { STANDBYS, useConditionKinds } from "./data";
import { Spark } from "./Spark";
import classes from "./standbys.module.css";

const TONES: Record<StandbyState, Tone> = {
  waiting: "idle",
  watching: "busy",
  fired: "ok",
  expired: "off",
  cancelled: "off",
  failed: "bad",
};

interface Props {
  rows: readonly Standby[];
  /** On the page of a host its name says nothing. */
  onHost?: boolean;
}

/** What waits on hosts: for what, with which last readings, until when, at what cost, and what it has started. */
export function StandbysTable({ rows, onHost = false }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const end = useAction((id: string) => post<Standby>(`/standbys/${id}/end`, {}), [STANDBYS]);
  return (
    <>
      <Grid stack label={t("standbys.title")}>
        <thead>
          <tr>
            <th>{t("standbys.number")}</th>
            {!onHost && <th>{t("standbys.host")}</th>}
            <th>{t("captures.state")}</th>
            <th>{t("standbys.waitsFor")}</th>
            <th>{t("standbys.until")}</th>
            <th>{t("standbys.cost")}</th>
            <th>{t("standbys.started")}</th>
            <th>{t("standbys.by")}</th>
            <th>
              <span className="visually-hidden">{t("standbys.end")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((one) => (
            <tr key={one.id}>
              <td className="num">#{one.number}</td>
              {!onHost && (
                <td>
                  <Link to="/hosts/$hostId" params={{ hostId: one.host.id }}>
                    {one.host.name}
                  </Link>
                </td>
              )}
              <td className={classes.why}>
                <State one={one} />
              </td>
              <td>{one.kind === "ring" ? <Kept one={one} /> : <Watched one={one} />}</td>
              <td className="num">
                <Ago at={one.ended_at ?? one.until} />
              </td>
              <td className="num">
                <Cost one={one} />
              </td>
              <td className={classes.why}>
                <Started one={one} />
              </td>
              <td>{one.by?.name ?? <span className="dim">{NO_VALUE}</span>}</td>
              <td>
                {one.ended_at === null && may(one.kind === "ring" ? "ring.manage" : "armed.manage") && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={end.isPending && end.variables === one.id}
                    onClick={() => end.mutate(one.id)}
                    aria-label={t("standbys.endOne", { number: one.number, host: one.host.name })}
                  >
                    {t(one.kind === "ring" ? "standbys.stop" : "standbys.disarm")}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
      <ErrorLine error={end.error} />
    </>
  );
}

function State({ one }: { one: Standby }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const why = one.failure ?? one.waiting;
  return (
    <>
      <Mark tone={TONES[one.state]}>{t(`standbys.state.${one.state}`)}</Mark>
      {why && <div className="dim">{sentence(why)}</div>}
      {one.interrupted > 0 && (
        <div className="dim">{t("standbys.interrupted", { count: one.interrupted })}</div>
      )}
    </>
  );
}

function Kept({ one }: { one: Standby }) {
  const { t } = useTranslation();
  return (
    <>
      {t("standbys.keeps", { length: seconds(one.ring_s) })}
      {one.stacks && <div className="dim">{t("standbys.withStacks")}</div>}
      {one.kept_s !== null && (
        <div className="dim num">{t("standbys.kept", { length: seconds(one.kept_s) })}</div>
      )}
    </>
  );
}

function Watched({ one }: { one: Standby }) {
  const { t } = useTranslation();
  const names = useNames();
  const locale = useLocale();
  const kinds = useConditionKinds().data;
  return (
    <>
      {one.conditions.map((each, index) => {
        const title = titleOf(kinds, each.kind, locale);
        const values = one.readings?.values[index] ?? [];
        const text = conditionText(each, title);
        return (
          <div key={text} className={classes.watched}>
            <span>{text}</span>
            {!each.starts && one.ended_at === null && (
              <>
                <Spark
                  values={values}
                  limit={each.limit}
                  label={t("standbys.lastReadings", { what: text })}
                />
                <span className="num dim">{lastReading(values, each.unit)}</span>
              </>
            )}
          </div>
        );
      })}
      {one.wanted && (
        <div className="dim">{t("standbys.captures", { plan: names.plan(one.wanted.plan) })}</div>
      )}
      {one.incident && (
        <div className="dim">
          <Link to="/incidents/$incidentId" params={{ incidentId: one.incident.id }}>
            {t("standbys.forIncident", { number: one.incident.number })}
          </Link>
        </div>
      )}
    </>
  );
}

function Cost({ one }: { one: Standby }) {
  const { t } = useTranslation();
  if (!one.cost) return <span className="dim">{NO_VALUE}</span>;
  return (
    <>
      <div title={t("standbys.cpuText")}>{quantity(one.cost.cpu_pct, "pct")} CPU</div>
      <div className="dim" title={t("standbys.memoryText")}>
        {bytes(one.cost.rss_kb * 1024)} + {bytes(one.cost.ring_bytes)}
      </div>
    </>
  );
}

function Started({ one }: { one: Standby }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  if (one.kind === "ring") return <span className="dim">{NO_VALUE}</span>;
  return (
    <>
      <div className="num">{t("standbys.fires", { count: one.fires, most: one.fires_max })}</div>
      {one.captures.map((capture) => (
        <div key={capture.id}>
          <Link to="/captures/$captureId" params={{ captureId: capture.id }}>
            #{capture.number}
          </Link>{" "}
          <span className="dim">
            <Ago at={capture.at} />
          </span>
        </div>
      ))}
      {one.refused && (
        <>
          <Mark tone="warn">
            {t("standbys.notStarted")} <Ago at={one.refused.at} />
          </Mark>
          <div className="dim">{sentence(one.refused.sentence)}</div>
        </>
      )}
    </>
  );
}
