import { TextInput } from "@mantine/core";
import { useMemo } from "react";
import { Link } from "../../components/Link";
import { DataTable } from "../../components/tables/DataTable";
import { rowKey } from "../../core/charts/tracks";
import { formatNumber, formatQuantity } from "../../core/text/format";
import { formatRange } from "../../core/time/range";
import { useMetrics } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { textField, useUrlState } from "../../lib/urlState";
import { timelineRange } from "../../widgets/timeline/changes/selections";
import type { Differences, Selection, SeriesDifference } from "../../widgets/timeline/changes/useDifferences";
import { Sparkline } from "./Sparkline";
import classes from "./WhatChanged.module.css";

const FIELDS = { q: textField };
const MAX_STEPS = 100;

interface Props {
  data: Differences;
  before: Selection;
  after: Selection;
}

/** Table of the series that differ, largest difference first; the title links to the timeline. */
export function SeriesTable({ data, before, after }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const metrics = useMetrics().data;
  const [{ q }, set] = useUrlState(FIELDS);
  const known = useMemo(() => new Map((metrics ?? []).map((metric) => [metric.id, metric])), [metrics]);
  const describe = (item: SeriesDifference) => {
    const labels = Object.values(item.labels).join(", ");
    const column = item.column === null ? "" : `${item.axis} ${item.column}`;
    const group = localize(known.get(item.metric)?.track.group_title);
    return { title: names.metric(item.metric), group, where: [labels, column].filter(Boolean).join(" · ") };
  };
  const needle = q.trim().toLowerCase();
  const rows = data.series
    .map((item) => ({ item, ...describe(item) }))
    .filter(({ item, title, group, where }) =>
      `${title} ${group} ${where} ${item.metric}`.toLowerCase().includes(needle),
    );
  const search = (item: SeriesDifference) => ({
    t: timelineRange(before, after),
    b: formatRange(after.range),
    ...(before.host === after.host ? { c: formatRange(before.range) } : {}),
    tracks: `+${rowKey(item, known.get(item.metric)?.track.kind)}`,
  });
  return (
    <>
      <div className={classes.bar}>
        <TextInput
          size="xs"
          w={280}
          type="search"
          aria-label={t("whatChanged.filter")}
          placeholder={t("whatChanged.filter")}
          value={q}
          onChange={(event) => set({ q: event.currentTarget.value })}
        />
        <span className="dim">{t("whatChanged.order")}</span>
        <span className={classes.equal}>{t("whatChanged.equal", { count: data.series_equal })}</span>
      </div>
      <DataTable stack label={t("whatChanged.series")}>
        <thead>
          <tr>
            <th>{t("whatChanged.what")}</th>
            <th>{t("whatChanged.course")}</th>
            <th className="right">{t("whatChanged.before")}</th>
            <th className="right">{t("whatChanged.after")}</th>
            <th className="right">{t("whatChanged.change")}</th>
            <th>{t("whatChanged.steps")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ item, title, group, where }) => (
            <tr key={`${item.metric} ${JSON.stringify(item.labels)}`}>
              <td className={classes.metric}>
                <Link
                  to="/hosts/$hostId"
                  params={{ hostId: after.host }}
                  search={search(item)}
                  title={`${item.metric}\n${localize(known.get(item.metric)?.meaning)}`}
                >
                  {title}
                </Link>{" "}
                <span className="dim">
                  {[where, group].filter(Boolean).join(" · ")}
                  {item.columns > 1 &&
                    ` · ${t("whatChanged.columns", { changed: item.columns_changed, all: item.columns })}`}
                </span>
              </td>
              <td>
                <Sparkline before={item.before.points} after={item.after.points} />
              </td>
              <td className="num right">
                <Amount side={item.before} unit={item.unit} />
              </td>
              <td className="num right">
                <Amount side={item.after} unit={item.unit} />
              </td>
              <td className="num right">{formatChange(item)}</td>
              <td>
                <Steps steps={item.steps} />
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      {rows.length === 0 && <p className={classes.note}>{t("whatChanged.noMatch", { text: q })}</p>}
      {data.series_changed > data.series.length && (
        <p className={classes.note}>
          {t("whatChanged.more", { count: data.series_changed - data.series.length })}
        </p>
      )}
    </>
  );
}

function Amount({ side, unit }: { side: SeriesDifference["before"]; unit: string }) {
  const { t } = useTranslation();
  const extremes = `${formatQuantity(side.min, unit)} – ${formatQuantity(side.max, unit)}`;
  return (
    <span title={t("whatChanged.values", { range: extremes, count: side.n })}>
      {formatQuantity(side.mean, unit)}
    </span>
  );
}

/** Return the change as "+41 %" for ratios below 3, else as "× 12"; without a ratio, the difference in the unit. */
export function formatChange({ before, after, ratio, unit }: SeriesDifference): string {
  const sign = after.mean >= before.mean ? "+" : "−";
  if (ratio === null) return `${sign}${formatQuantity(Math.abs(after.mean - before.mean), unit)}`;
  if (ratio >= 3) return `× ${formatNumber(ratio)}`;
  return `${sign}${formatNumber(Math.abs(ratio - 1) * 100)}\u2009%`;
}

/** Bar of the change in steps; the scale is logarithmic, so that 2 steps and 100 steps are both visible. */
function Steps({ steps }: { steps: number | null }) {
  const { t } = useTranslation();
  if (steps === null)
    return (
      <span className="dim" title={t("whatChanged.fewValuesText")}>
        {t("whatChanged.fewValues")}
      </span>
    );
  const size = Math.abs(steps);
  const width = (Math.log(1 + size) / Math.log(1 + MAX_STEPS)) * 100;
  const limit = size >= MAX_STEPS ? (steps > 0 ? "≥ " : "≤ ") : "";
  const text = `${limit}${steps > 0 ? "+" : "−"}${formatNumber(size)}`;
  return (
    <span className={classes.steps} title={t("whatChanged.stepsText")}>
      <span className={classes.stepsBar}>
        <span className={steps > 0 ? classes.grew : classes.shrank} style={{ width: `${width}%` }} />
      </span>
      <span className="num">{text}</span>
    </span>
  );
}
