import { Collapsible } from "../../components/Collapsible";
import { DataTable } from "../../components/tables/DataTable";
import { factText } from "../../core/hosts/facts";
import { formatCount, formatNumber, formatQuantity } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitedSource } from "../../widgets/findings/CitationLink";
import type { Differences } from "../../widgets/timeline/changes/useDifferences";
import classes from "./WhatChanged.module.css";

/** Table of event kinds with their counts and rates in both selections, in the order of the server. */
export function EventsTable({ data }: { data: Differences }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const time = useTimeFormat();
  return (
    <>
      <DataTable stack label={t("whatChanged.events")}>
        <thead>
          <tr>
            <th>{t("whatChanged.event")}</th>
            <th className="right">{t("whatChanged.before")}</th>
            <th className="right">{t("whatChanged.after")}</th>
            <th>{t("whatChanged.newest")}</th>
          </tr>
        </thead>
        <tbody>
          {data.events.map((event) => (
            <tr key={`${event.kind} ${event.severity} ${event.last_ns}`}>
              <td>
                <span className={classes[`severity_${event.severity}`]}>{formatMessage(event.title)}</span>
              </td>
              <EventCount n={event.before} perHour={event.before_per_hour} />
              <EventCount n={event.after} perHour={event.after_per_hour} />
              <td className="num">{time.instant(event.last_ns, 1e9)}</td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <Rest total={data.events_total} listed={data.events.length} />
    </>
  );
}

function EventCount({ n, perHour }: { n: number; perHour: number }) {
  const { t } = useTranslation();
  return (
    <td className="num right">
      {formatCount(n)}{" "}
      {n > 0 && <span className="dim">{t("whatChanged.perHour", { rate: formatNumber(perHour) })}</span>}
    </td>
  );
}

/** Table of settings that changed on a host, or that differ between two hosts. */
export function ConfigurationTable({ data }: { data: Differences }) {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const source = (id: string) => (id === "preflight" ? t("changes.preflight") : names.collector(id));
  const value = (name: string, text: string | null) =>
    text === null ? (
      <span className="dim">{t("changes.absent")}</span>
    ) : (
      <span className="mono">{factText(name, text)}</span>
    );
  return (
    <>
      <DataTable stack label={t("whatChanged.configuration")}>
        <thead>
          <tr>
            <th>{t("changes.fact")}</th>
            <th>{t("whatChanged.before")}</th>
            <th>{t("whatChanged.after")}</th>
            <th>{data.facts.length > 0 ? t("changes.between") : t("changes.readBy")}</th>
          </tr>
        </thead>
        <tbody>
          {data.facts.map((fact) => (
            <tr key={`${fact.source} ${fact.name} ${fact.after.at_ns}`}>
              <td className="mono">{fact.name}</td>
              {[fact.before, fact.after].map((reading) => (
                <td key={reading.at_ns} className={classes.fact}>
                  <CitedSource
                    place={
                      reading.artifact_id
                        ? {
                            run: reading.run_id ?? "",
                            collector: fact.source,
                            artifact: reading.artifact_id,
                            part: "",
                            lines: reading.line ? [reading.line] : [],
                          }
                        : undefined
                    }
                  >
                    {value(fact.name, reading.value)}
                  </CitedSource>
                </td>
              ))}
              <td className="num">
                {time.instant(fact.before.at_ns, 1e9)} – {time.instant(fact.after.at_ns, 1e9)}
              </td>
            </tr>
          ))}
          {data.settings.map((setting) => (
            <tr key={`${setting.source} ${setting.name}`}>
              <td className="mono">{setting.name}</td>
              <td className={classes.fact}>{value(setting.name, setting.before)}</td>
              <td className={classes.fact}>{value(setting.name, setting.after)}</td>
              <td className="dim">{source(setting.source)}</td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <Rest
        total={data.facts_total + data.settings_total}
        listed={data.facts.length + data.settings.length}
      />
    </>
  );
}

/** Series and metrics that only one selection contains, and so cannot be compared. */
export function UnmatchedSeries({ data }: { data: Differences }) {
  const { t } = useTranslation();
  const names = useNames();
  const lists = [
    { id: "appeared", rows: data.appeared, total: data.appeared_total },
    { id: "vanished", rows: data.vanished, total: data.vanished_total },
  ] as const;
  const metrics = [
    { id: "beforeOnly", ids: data.metrics_before_only },
    { id: "afterOnly", ids: data.metrics_after_only },
  ] as const;
  return (
    <>
      {lists.map(
        ({ id, rows, total }) =>
          total > 0 && (
            <Collapsible key={id} id={id} title={t(`whatChanged.${id}`)} count={total}>
              <DataTable stack label={t(`whatChanged.${id}`)}>
                <thead>
                  <tr>
                    <th>{t("whatChanged.what")}</th>
                    <th className="right">{t("whatChanged.mean")}</th>
                    <th className="right">{t("whatChanged.extremes")}</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((item) => (
                    <tr key={`${item.metric} ${JSON.stringify(item.labels)}`}>
                      <td>
                        {names.metric(item.metric)}{" "}
                        <span className="dim">{Object.values(item.labels).join(", ")}</span>
                      </td>
                      <td className="num right">{formatQuantity(item.mean, item.unit)}</td>
                      <td className="num right dim">
                        {formatQuantity(item.min, item.unit)} – {formatQuantity(item.max, item.unit)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </DataTable>
              <Rest total={total} listed={rows.length} />
            </Collapsible>
          ),
      )}
      {metrics.map(
        ({ id, ids }) =>
          ids.length > 0 && (
            <Collapsible key={id} id={id} title={t(`whatChanged.${id}`)} count={ids.length}>
              <p className={classes.note}>{ids.map(names.metric).join(" · ")}</p>
            </Collapsible>
          ),
      )}
    </>
  );
}

function Rest({ total, listed }: { total: number; listed: number }) {
  const { t } = useTranslation();
  if (total <= listed) return null;
  return <p className={classes.note}>{t("changes.more", { count: total - listed })}</p>;
}
